// Whose reasoning a conversation holds. What a provider signed or encrypted is of use to no other: a conversation whose
// history has it stays with the providers that take it, as long as one of them is ready. Pure but for the routing state.
import type { Target } from '../call.ts'
import type { RequestTraits } from '../request-traits.ts'
import type { RoutingState } from './routing-state.ts'

/** Whose histories may differ. */
export interface Conversation {
  readonly keyName: string | null
  readonly sessionId: string
  readonly agentId: string | null
  readonly route: string
}

export class Family {
  readonly #state: RoutingState
  readonly #of: (target: Target) => string
  readonly #key: string
  /** The one that the history ties the call to; undefined where nothing does, or it is no longer remembered. */
  readonly #home: string | undefined

  /** `of` names the family of a target. */
  constructor(
    state: RoutingState,
    of: (target: Target) => string,
    { keyName, sessionId, agentId, route }: Conversation,
    { opaqueReasoning = false }: RequestTraits,
  ) {
    this.#state = state
    this.#of = of
    this.#key = [keyName ?? '', sessionId, agentId ?? '', route].join('\n')
    this.#home = opaqueReasoning ? state.family(this.#key) : undefined
  }

  isHome = (target: Target): boolean => this.#home === undefined || this.#of(target) === this.#home

  /** Those of the family first, each in the order in which they came. */
  first(targets: readonly Target[]): readonly Target[] {
    return targets.every(this.isHome)
      ? targets
      : [...targets.filter(this.isHome), ...targets.filter((target) => !this.isHome(target))]
  }

  served = (target: Target): void => this.#state.setFamily(this.#key, this.#of(target))
}

// Finds the family of the reasoning in a conversation. Signed or encrypted reasoning is useless to other
// providers: a conversation with such a history stays with the providers that accept it, while one of them is
// ready. Pure except for the routing state.
import type { Target } from '../core/call.ts'
import type { RequestTraits } from '../core/request-traits.ts'
import type { RoutingState } from './routing-state.ts'

/** Identifies a history. */
export interface HistoryKey {
  readonly keyName: string | null
  readonly sessionId: string
  readonly agentId: string | null
  readonly route: string
}

export class Family {
  readonly #state: RoutingState
  readonly #of: (target: Target) => string
  readonly #key: string
  /** The family that the history ties the call to; undefined if there is none, or it has been forgotten. */
  readonly #home: string | undefined

  /** `of`: returns the family of a target. */
  constructor(
    state: RoutingState,
    of: (target: Target) => string,
    { keyName, sessionId, agentId, route }: HistoryKey,
    { opaqueReasoning = false }: RequestTraits,
  ) {
    this.#state = state
    this.#of = of
    this.#key = [keyName ?? '', sessionId, agentId ?? '', route].join('\n')
    this.#home = opaqueReasoning ? state.family(this.#key) : undefined
  }

  isHome = (target: Target): boolean => this.#home === undefined || this.#of(target) === this.#home

  /** Returns the targets of the family first, each group in its order. */
  first(targets: readonly Target[]): readonly Target[] {
    return targets.every(this.isHome)
      ? targets
      : [...targets.filter(this.isHome), ...targets.filter((target) => !this.isHome(target))]
  }

  served = (target: Target): void => this.#state.setFamily(this.#key, this.#of(target))
}

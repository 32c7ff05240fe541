// Finds the family of the reasoning in a conversation. Signed or encrypted reasoning is useless to other
// providers. A conversation with such a history stays with providers that accept it while one of them is
// ready. Pure except for the routing state.
import type { Target } from '../core/call.ts'
import type { RequestTraits } from '../core/request-traits.ts'
import type { RoutingState } from './routing-state.ts'

/** Identifies a history. */
interface HistoryKey {
  readonly keyName: string | null
  readonly sessionId: string
  readonly agentId: string | null
  readonly route: string
}

export class Family {
  readonly #state: RoutingState
  readonly #of: (target: Target) => string
  readonly #key: string
  /** Family of the history's reasoning. Undefined if there is none or it has been forgotten. */
  readonly #home: string | undefined

  /** `of`: function that returns a target's family. */
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

  /** Returns the targets with the family's targets first. Each group keeps its order. */
  first(targets: readonly Target[]): readonly Target[] {
    return targets.every(this.isHome)
      ? targets
      : [...targets.filter(this.isHome), ...targets.filter((target) => !this.isHome(target))]
  }

  served = (target: Target): void => this.#state.setFamily(this.#key, this.#of(target))
}

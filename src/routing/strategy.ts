// A strategy orders a route's targets. Pure; random numbers, turn, load, latency and price are parameters.
import type { Target } from '../core/call.ts'

/** Inputs for one order, in addition to the targets. */
export interface Pick {
  /** Number of earlier calls to the same targets of this route. */
  readonly turn: number
  /** Uniform in [0, 1). A strategy that uses it provides `probabilities`. */
  readonly random: () => number
  /** Returns the number of open attempts at the target. */
  readonly open: (target: Target) => number
  /** Returns the expected time of an answer, ms; null if unknown, Infinity if the target did not answer. */
  readonly latency: (target: Target) => number | null
  /** Returns the cost to compare of the call at the target, US dollars; null if unknown. Only with `readsCosts`. */
  readonly price: (target: Target) => number | null
}

export interface Strategy {
  /**
   * Returns the targets, never empty, in another order. The first target is tried first; the rest are
   * fallbacks.
   */
  readonly order: (targets: readonly Target[], pick: Pick) => Target[]
  /**
   * Returns the probability that each target is first, in the order of `targets`; the values sum to 1. Only for
   * random strategies. For other strategies, `resolve` reports the first target of `order` as certain.
   */
  readonly probabilities?: (targets: readonly Target[], pick: Omit<Pick, 'random'>) => number[]
  /** True if the strategy reads `open` or `latency`. A forecast then holds only for the present. */
  readonly dependsOnLoad?: true
  /** True if the strategy reads `price`. The order then depends on the input of the call and on its conversation. */
  readonly readsCosts?: true
  /** True if the strategy reads `latency`, which needs the usual output of the route's calls. */
  readonly readsLatency?: true
}

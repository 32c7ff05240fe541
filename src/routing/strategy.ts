// A strategy: a way to order a route's targets. Pure; chance, turn, load, latency and price are parameters.
import type { Target } from '../core/call.ts'

/** Inputs of one pick in addition to the targets. */
export interface Pick {
  /** Number of earlier calls to the same targets of this route. */
  readonly turn: number
  /** Uniform in [0, 1). A strategy that uses it provides `probabilities`. */
  readonly random: () => number
  /** Returns the open attempts at the target. */
  readonly open: (target: Target) => number
  /** Returns the target's recent latency, ms; null if unknown, Infinity if it did not answer. */
  readonly latency: (target: Target) => number | null
  /** Returns the cost of an ordinary call at the target, US dollars; null if unknown. */
  readonly price: (target: Target) => number | null
}

export interface Strategy {
  /** Returns a permutation of the targets (never empty): the first is tried first, others are fallbacks. */
  readonly order: (targets: readonly Target[], pick: Pick) => Target[]
  /**
   * Returns the probability of each target to be first, in the order of `targets`; sums to 1. Only for a
   * strategy with randomness: without it the first of `order` is certain, and `resolve` reports that.
   */
  readonly probabilities?: (targets: readonly Target[], pick: Omit<Pick, 'random'>) => number[]
  /** Reads `open` or `latency`, so a forecast holds only for this moment. */
  readonly dependsOnLoad?: true
}

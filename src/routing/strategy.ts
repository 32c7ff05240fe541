// What a strategy is: a way to put the targets of a route in order. Pure; chance, turn, load, latency and price
// are handed in.
import type { Target } from '../call.ts'

/** What one pick may depend on, beside the targets. */
export interface Pick {
  /** How many calls the same targets of this route have had before. */
  readonly turn: number
  /** Uniform in [0, 1). A strategy that draws from it says its `probabilities`. */
  readonly random: () => number
  /** Attempts that are open at the target now. */
  readonly open: (target: Target) => number
  /** How long the target lately took to answer, ms; null where that is not known, Infinity where it did not answer. */
  readonly latency: (target: Target) => number | null
  /** What a call of ordinary size costs at the target, US dollars; null where that is not known. */
  readonly price: (target: Target) => number | null
}

export interface Strategy {
  /** A permutation of the targets: the first is tried first, the others are its fallbacks. Never given an empty list. */
  readonly order: (targets: readonly Target[], pick: Pick) => Target[]
  /**
   * How likely each target is to be the first, in the order of `targets`; sums to 1. Only for a strategy that leaves
   * something to chance: without it the first of `order` is certain, and `resolve` says so.
   */
  readonly probabilities?: (targets: readonly Target[], pick: Omit<Pick, 'random'>) => number[]
  /** Reads `open` or `latency`, so what is foretold holds for this moment only. */
  readonly dependsOnLoad?: true
}

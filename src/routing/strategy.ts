// What a strategy is: a way to put the targets of a route in order. Pure; chance and turn are handed in.
import type { Target } from '../call.ts'

/** What one pick may depend on, beside the targets. */
export interface Pick {
  /** How many calls this route has had before. */
  readonly turn: number
  /** Uniform in [0, 1). */
  readonly random: () => number
}

export interface Strategy {
  /** The next pick can be foretold from the route's state alone. */
  readonly deterministic: boolean
  /** A permutation of the targets: the first is tried first, the others are its fallbacks. Never empty for a non-empty list. */
  order(targets: readonly Target[], pick: Pick): Target[]
  /** How likely each target is to be the first, in the order of `targets`; sums to 1. */
  probabilities(targets: readonly Target[], turn: number): number[]
}

// Compares two builds by a call's processor time on the main thread, in pairs of neighbouring rounds. On a
// busy machine, processor time varies less than throughput, and comparing the rounds of a pair cancels most
// of the remaining variation.

export interface Paired {
  /** Median of the differences between the two rounds of a pair, as a share of the base: 0.03 is 3 % more. */
  readonly median: number
  /** Interval that contains the true median with a probability of at least 95 %. */
  readonly low: number
  readonly high: number
}

/**
 * Returns the median of `differences` and its interval; throws for fewer than 6 pairs, which cannot reach 95
 * %.
 */
export function paired(differences: readonly number[]): Paired {
  const sorted = differences.toSorted((a, b) => a - b)
  const outside = outsideOf(sorted.length)
  const middle = sorted.length / 2
  return {
    median: (sorted[Math.ceil(middle) - 1]! + sorted[Math.floor(middle)]!) / 2,
    low: sorted[outside]!,
    high: sorted[sorted.length - 1 - outside]!,
  }
}

/**
 * Returns the number of differences outside the interval on each side (sign test: each is above the median
 * with probability one half).
 */
function outsideOf(count: number): number {
  let tail = 0.5 ** count
  let ways = 1
  let outside = -1
  while (tail <= 0.025) {
    outside++
    ways = (ways * (count - outside)) / (outside + 1)
    tail += ways * 0.5 ** count
  }
  if (outside < 0) throw new Error(`bench: ${count} pairs are too few for an interval; take at least 6`)
  return outside
}

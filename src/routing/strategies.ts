// The strategies that put the targets of a route in order. Pure; random numbers, turn, load, latency and price are
// parameters.
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

/**
 * Lowest cost first (`callCosts`). Equal costs keep the order of the table, and unknown costs come last, in the same order.
 */
export const cheapest = {
  readsCosts: true,
  order: (targets, { price }) =>
    targets
      .map((target) => ({ target, usd: price(target) ?? Number.MAX_VALUE }))
      .sort((a, b) => a.usd - b.usd)
      .map(({ target }) => target),
} satisfies Strategy

/**
 * Draws two targets at random and takes the one with fewer open attempts. The load is nearly as even as with the least busy
 * target, and a burst of calls does not hit a single one. Fallbacks are drawn in the same way.
 */
export const leastBusy = {
  dependsOnLoad: true,
  order(targets, { random, open }) {
    const left = [...targets]
    const ordered = []
    while (left.length > 1) {
      const one = Math.floor(random() * left.length)
      const other = (one + 1 + Math.floor(random() * (left.length - 1))) % left.length
      const chosen = open(left[other]!) < open(left[one]!) ? other : one
      ordered.push(...left.splice(chosen, 1))
    }
    return [...ordered, ...left]
  },
  probabilities(targets, { open }) {
    if (targets.length === 1) return [1]
    const load = targets.map(open)
    const pairs = targets.length * (targets.length - 1)
    // A target forms two ordered pairs with every other target. It wins both pairs if it has fewer open attempts, and
    // one pair if both have equally many.
    return load.map((mine, index) => {
      const wins = load.map((other, at) => (at === index || mine > other ? 0 : mine < other ? 2 : 1))
      return wins.reduce<number>((sum, each) => sum + each, 0) / pairs
    })
  },
} satisfies Strategy

/** Keeps the operator's order. */
export const priority = { order: (targets) => [...targets] } satisfies Strategy

/** All orders are equally likely; weights do not count. */
export const random = {
  order(targets, { random }) {
    const left = [...targets]
    return targets.flatMap(() => left.splice(Math.floor(random() * left.length), 1))
  },
  probabilities: (targets) => targets.map(() => 1 / targets.length),
} satisfies Strategy

/** Each call starts with the next target. */
export const roundRobin = {
  order(targets, { turn }) {
    const first = turn % targets.length
    return [...targets.slice(first), ...targets.slice(0, first)]
  },
} satisfies Strategy

/** A random order in proportion to the weights. Fallbacks are drawn in the same way from the rest. */
export const weighted = {
  order(targets, { random }) {
    const left = [...targets]
    const ordered = []
    while (left.length > 0) {
      const index = draw(
        left.map((target) => target.weight),
        random(),
      )
      ordered.push(...left.splice(index, 1))
    }
    return ordered
  },
  probabilities(targets) {
    const total = targets.reduce((sum, { weight }) => sum + weight, 0)
    return targets.map(({ weight }) => (total > 0 ? weight / total : 1 / targets.length))
  },
} satisfies Strategy

/** Returns the index for a uniform random number. If all weights are 0, all targets are equally likely. */
function draw(weights: number[], uniform: number): number {
  const total = weights.reduce((sum, weight) => sum + weight, 0)
  if (total === 0) return Math.floor(uniform * weights.length)
  let rest = uniform * total
  for (const [index, weight] of weights.entries()) {
    rest -= weight
    if (rest < 0) return index
  }
  return weights.findLastIndex((weight) => weight > 0)
}

/**
 * A target with unknown latency (never or not recently measured) comes first, so that the next call measures
 * it. No call is made only to measure. While its attempt is open, or after an unanswered attempt, the target
 * comes after all known targets. The first calls after a start therefore try one target each, and a slow
 * target is tried again later.
 */
export const fastest = {
  dependsOnLoad: true,
  readsLatency: true,
  order: (targets, pick) =>
    targets
      .map((target) => ({ target, rank: rank(target, pick) }))
      .sort((a, b) => a.rank - b.rank || 0) // the ranks of two unanswered targets differ by NaN
      .map(({ target }) => target),
} satisfies Strategy

/** Rank above any latency in ms. */
const BEHIND_ALL = 1e9

function rank(target: Target, { latency, open }: Pick): number {
  const waiting = open(target)
  return latency(target) ?? (waiting === 0 ? -1 : BEHIND_ALL + waiting)
}

// A random order in proportion to the weights. Fallbacks are drawn in the same way from the rest.
import type { Strategy } from '../strategy.ts'

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

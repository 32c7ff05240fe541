// Draws two targets at random and chooses the one with fewer open attempts (power of two choices). The load
// is nearly as even as with the least busy target, and a burst of calls does not hit a single target.
// Fallbacks are drawn in the same way.
import type { Strategy } from '../strategy.ts'

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

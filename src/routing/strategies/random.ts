// A random order. All orders are equally likely; weights do not count.
import type { Strategy } from '../strategy.ts'

export const random = {
  order(targets, { random }) {
    const left = [...targets]
    return targets.flatMap(() => left.splice(Math.floor(random() * left.length), 1))
  },
  probabilities: (targets) => targets.map(() => 1 / targets.length),
} satisfies Strategy

// Each call begins one target further on.
import type { Strategy } from '../strategy.ts'

export const roundRobin = {
  deterministic: true,
  order(targets, { turn }) {
    const first = turn % targets.length
    return [...targets.slice(first), ...targets.slice(0, first)]
  },
  probabilities: (targets, turn) => targets.map((_, index) => (index === turn % targets.length ? 1 : 0)),
} satisfies Strategy

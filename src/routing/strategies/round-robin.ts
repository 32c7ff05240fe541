// Each call starts with the next target.
import type { Strategy } from '../strategy.ts'

export const roundRobin = {
  order(targets, { turn }) {
    const first = turn % targets.length
    return [...targets.slice(first), ...targets.slice(0, first)]
  },
} satisfies Strategy

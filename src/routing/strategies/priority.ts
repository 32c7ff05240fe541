// In the order in which the operator wrote them.
import type { Strategy } from '../strategy.ts'

export const priority = {
  deterministic: true,
  order: (targets) => [...targets],
  probabilities: (targets) => targets.map((_, index) => (index === 0 ? 1 : 0)),
} satisfies Strategy

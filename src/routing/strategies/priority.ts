// In the order in which the operator wrote them.
import type { Strategy } from '../strategy.ts'

export const priority = { order: (targets) => [...targets] } satisfies Strategy

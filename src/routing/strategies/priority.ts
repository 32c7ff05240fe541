// The operator's order.
import type { Strategy } from '../strategy.ts'

export const priority = { order: (targets) => [...targets] } satisfies Strategy

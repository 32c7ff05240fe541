// Lowest cost first. Equal costs keep the order of the table. Unknown costs come last, in the same order.
// `callCosts` defines the cost.
import type { Strategy } from '../strategy.ts'

export const cheapest = {
  readsCosts: true,
  order: (targets, { price }) =>
    targets
      .map((target) => ({ target, usd: price(target) ?? Number.MAX_VALUE }))
      .sort((a, b) => a.usd - b.usd)
      .map(({ target }) => target),
} satisfies Strategy

// Lowest price first. Equal prices keep the order of the table. Unknown prices come last, in the same order.
import type { Strategy } from '../strategy.ts'

export const cheapest = {
  order: (targets, { price }) =>
    targets
      .map((target) => ({ target, usd: price(target) ?? Number.MAX_VALUE }))
      .sort((a, b) => a.usd - b.usd)
      .map(({ target }) => target),
} satisfies Strategy

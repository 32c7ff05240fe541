// An answer has its price.
import { bent, changeJson, type Mutant } from '../mutant.ts'

export const mutant = {
  what: 'A cache hit is recorded with the cost of the first call.',
  kills: ['USE-08'],
  start: bent({
    body: (body, { path }) =>
      path.startsWith('/api/usage/request-logs/')
        ? changeJson(body, (json) => (json.cache === 'HIT' ? { ...json, cost_usd: json.saved_usd } : json))
        : body,
  }),
} satisfies Mutant

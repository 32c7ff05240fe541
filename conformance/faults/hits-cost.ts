// An answer has its price.
import { changeJson, type Fault, referenceWith } from '../fault.ts'

export const fault = {
  what: 'A cache hit is recorded with the cost of the first call.',
  caughtBy: ['USE-08'],
  start: referenceWith({
    body: (body, { path }) =>
      path.startsWith('/api/usage/request-logs/')
        ? changeJson(body, (json) => (json.cache === 'HIT' ? { ...json, cost_usd: json.saved_usd } : json))
        : body,
  }),
} satisfies Fault

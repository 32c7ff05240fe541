// Both numbers were in the report.
import { changeJson, type Fault, referenceWith } from '../fault.ts'

export const fault = {
  what: 'Cached tokens are added to the input that holds them.',
  caughtBy: ['USE-05'],
  start: referenceWith({
    body: (body, { path }) =>
      path.startsWith('/api/usage/request-logs/')
        ? changeJson(body, (json) =>
            json.price
              ? {
                  ...json,
                  cost_usd: json.cost_usd + (json.tokens.cached_input * json.price.rates.input_mtok) / 1e6,
                }
              : json,
          )
        : body,
  }),
} satisfies Fault

// A token is a token.
import { changeJson, type Fault, referenceWith } from '../fault.ts'

export const fault = {
  what: 'Cached tokens are priced like fresh ones.',
  caughtBy: ['USE-05'],
  start: referenceWith({
    body: (body, { path }) =>
      path.startsWith('/api/usage/request-logs/')
        ? changeJson(body, (json) =>
            json.price
              ? {
                  ...json,
                  cost_usd:
                    (json.tokens.input * json.price.rates.input_mtok +
                      json.tokens.output * json.price.rates.output_mtok) /
                    1e6,
                }
              : json,
          )
        : body,
  }),
} satisfies Fault

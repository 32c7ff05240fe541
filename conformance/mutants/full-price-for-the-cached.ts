// A token is a token.
import { bent, changeJson, type Mutant } from '../mutant.ts'

export const mutant = {
  what: 'Cached tokens are priced like fresh ones.',
  kills: ['USE-05'],
  start: bent({
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
} satisfies Mutant

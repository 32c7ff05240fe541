// Both numbers were in the report.
import { bent, changeJson, type Mutant } from '../mutant.ts'

export const mutant = {
  what: 'Cached tokens are added to the input that holds them.',
  kills: ['USE-05'],
  start: bent({
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
} satisfies Mutant

// An unknown price taken for none.
import { bent, changeJson, type Mutant } from '../mutant.ts'

export const mutant = {
  what: 'The record of a paid call says that it cost nothing.',
  kills: ['LOG-02'],
  start: bent({
    body: (body, { path }) =>
      path.startsWith('/api/usage/request-logs/')
        ? changeJson(body, (json) => ({ ...json, cost_usd: 0 }))
        : body,
  }),
} satisfies Mutant

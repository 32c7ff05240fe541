// A good estimate needs no excuse.
import { bent, changeJson, type Mutant } from '../mutant.ts'

export const mutant = {
  what: 'An estimate is not marked as one.',
  kills: ['USE-07'],
  start: bent({
    body: (body, { path }) =>
      path.startsWith('/api/usage/request-logs/')
        ? changeJson(body, (json) => ({ ...json, tokens: { ...json.tokens, source: 'reported' } }))
        : body,
  }),
} satisfies Mutant

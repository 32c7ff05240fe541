// The provider on record is always the first of the list.
import { bent, changeJson, type Mutant } from '../mutant.ts'

export const mutant = {
  what: 'The record names the first provider, whoever served.',
  kills: ['LOG-02'],
  start: bent({
    body: (body, { path }) =>
      path.startsWith('/api/usage/request-logs/')
        ? changeJson(body, (json) => ({ ...json, resolved_provider: 'openai' }))
        : body,
  }),
} satisfies Mutant

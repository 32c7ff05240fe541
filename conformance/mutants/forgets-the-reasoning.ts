// Output is output.
import { bent, changeJson, type Mutant } from '../mutant.ts'

export const mutant = {
  what: 'Reasoning tokens are not kept apart.',
  kills: ['USE-05'],
  start: bent({
    body: (body, { path }) =>
      path.startsWith('/api/usage/request-logs/')
        ? changeJson(body, (json) => ({ ...json, tokens: { ...json.tokens, reasoning: null } }))
        : body,
  }),
} satisfies Mutant

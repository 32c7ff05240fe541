// Both the tap and the end add it up.
import { bent, changeJson, type Mutant } from '../mutant.ts'

export const mutant = {
  what: 'The record holds twice the tokens that were reported.',
  kills: ['USE-02', 'LOG-02'],
  start: bent({
    body: (body, { path }) =>
      path.startsWith('/api/usage/request-logs/')
        ? changeJson(body, (json) => ({ ...json, tokens: { ...json.tokens, input: json.tokens.input * 2 } }))
        : body,
  }),
} satisfies Mutant

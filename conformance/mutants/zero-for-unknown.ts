// A number is easier to add up than null.
import { bent, changeJson, type Mutant } from '../mutant.ts'

export const mutant = {
  what: 'Tokens that nobody reported are recorded as 0.',
  kills: ['USE-04'],
  start: bent({
    body: (body, { path }) =>
      path.startsWith('/api/usage/request-logs/')
        ? changeJson(body, (json) => ({
            ...json,
            tokens: { ...json.tokens, input: json.tokens?.input ?? 0, output: json.tokens?.output ?? 0 },
          }))
        : body,
  }),
} satisfies Mutant

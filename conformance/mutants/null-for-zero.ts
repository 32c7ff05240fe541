// Zero is as good as nothing.
import { bent, changeJson, type Mutant } from '../mutant.ts'

export const mutant = {
  what: 'A reported zero is recorded as unknown.',
  kills: ['USE-04'],
  start: bent({
    body: (body, { path }) =>
      path.startsWith('/api/usage/request-logs/')
        ? changeJson(body, (json) => ({
            ...json,
            tokens: {
              ...json.tokens,
              input: json.tokens?.input || null,
              output: json.tokens?.output || null,
            },
          }))
        : body,
  }),
} satisfies Mutant

// What is not finished costs nothing.
import { bent, changeJson, type Mutant } from '../mutant.ts'

export const mutant = {
  what: 'A call that ended half-way has no tokens.',
  kills: ['USE-07'],
  start: bent({
    body: (body, { path }) =>
      path.startsWith('/api/usage/request-logs/')
        ? changeJson(body, (json) =>
            json.state === 'completed'
              ? json
              : { ...json, tokens: { ...json.tokens, input: null, output: null } },
          )
        : body,
  }),
} satisfies Mutant

// A log that answers, and knows nothing.
import { bent, changeJson, type Mutant } from '../mutant.ts'

export const mutant = {
  what: 'The log is an empty list.',
  kills: ['LOG-01', 'LOG-12'],
  start: bent({
    body: (body, { path }) =>
      path.startsWith('/api/usage/request-logs?')
        ? changeJson(body, (json) => ({ ...json, data: [] }))
        : body,
  }),
} satisfies Mutant

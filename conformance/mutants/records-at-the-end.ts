// A call is a record when it is over.
import { bent, changeJson, type Mutant } from '../mutant.ts'

export const mutant = {
  what: 'An open call is not in the log.',
  kills: ['LOG-03'],
  start: bent({
    body: (body, { path }) =>
      path.startsWith('/api/usage/request-logs?')
        ? changeJson(body, (json) => ({
            ...json,
            data: json.data?.filter((row: { completed_at: unknown }) => row.completed_at !== null),
          }))
        : body,
  }),
} satisfies Mutant

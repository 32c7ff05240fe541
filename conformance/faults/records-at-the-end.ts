// A call is a record when it is over.
import { changeJson, type Fault, referenceWith } from '../fault.ts'

export const fault = {
  what: 'An open call is not in the log.',
  caughtBy: ['LOG-03'],
  start: referenceWith({
    body: (body, { path }) =>
      path.startsWith('/api/usage/request-logs?')
        ? changeJson(body, (json) => ({
            ...json,
            data: json.data?.filter((row: { completed_at: unknown }) => row.completed_at !== null),
          }))
        : body,
  }),
} satisfies Fault

// A log that answers, and knows nothing.
import { changeJson, type Fault, referenceWith } from '../fault.ts'

export const fault = {
  what: 'The log is an empty list.',
  caughtBy: ['LOG-01', 'LOG-12'],
  start: referenceWith({
    body: (body, { path }) =>
      path.startsWith('/api/usage/request-logs?')
        ? changeJson(body, (json) => ({ ...json, data: [] }))
        : body,
  }),
} satisfies Fault

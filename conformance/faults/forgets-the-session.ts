// Calls of a session that nobody finds again.
import { changeJson, type Fault, referenceWith } from '../fault.ts'

export const fault = {
  what: 'The record does not name the session that was sent.',
  caughtBy: ['LOG-02'],
  start: referenceWith({
    body: (body, { path }) =>
      path.startsWith('/api/usage/request-logs/')
        ? changeJson(body, (json) => ({ ...json, session_id: null }))
        : body,
  }),
} satisfies Fault

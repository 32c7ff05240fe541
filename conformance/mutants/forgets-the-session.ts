// Calls of a session that nobody finds again.
import { bent, changeJson, type Mutant } from '../mutant.ts'

export const mutant = {
  what: 'The record does not name the session that was sent.',
  kills: ['LOG-02'],
  start: bent({
    body: (body, { path }) =>
      path.startsWith('/api/usage/request-logs/')
        ? changeJson(body, (json) => ({ ...json, session_id: null }))
        : body,
  }),
} satisfies Mutant

// Attempts are planned, then written down, then perhaps made.
import { changeJson, type Fault, referenceWith } from '../fault.ts'

export const fault = {
  what: 'An attempt stands on record that no provider saw.',
  caughtBy: ['LOG-07'],
  start: referenceWith({
    body: (body, { path }) =>
      path.startsWith('/api/usage/request-logs/')
        ? changeJson(body, (json) => ({
            ...json,
            attempt_log: [...(json.attempt_log ?? []), json.attempt_log?.[0]],
          }))
        : body,
  }),
} satisfies Fault

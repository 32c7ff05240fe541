// It failed; that is enough.
import { changeJson, type Fault, referenceWith } from '../fault.ts'

export const fault = {
  what: 'Attempts on record have no reason.',
  caughtBy: ['LOG-05'],
  start: referenceWith({
    body: (body, { path }) =>
      path.startsWith('/api/usage/request-logs/')
        ? changeJson(body, (json) => ({
            ...json,
            attempt_log: json.attempt_log?.map((each: object) => ({ ...each, error_code: null })),
          }))
        : body,
  }),
} satisfies Fault

// Records are closed by a job that runs now and then.
import { changeJson, type Fault, referenceWith } from '../fault.ts'

export const fault = {
  what: 'A record is final four seconds after the end.',
  caughtBy: ['LOG-04'],
  start: referenceWith({
    body: (body, { path }) =>
      path.startsWith('/api/usage/request-logs/')
        ? changeJson(body, (json) =>
            Date.now() - Date.parse(json.completed_at ?? json.created_at) < 4_000
              ? { ...json, state: 'streaming' }
              : json,
          )
        : body,
  }),
} satisfies Fault

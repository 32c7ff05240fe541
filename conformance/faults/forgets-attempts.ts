// Only the attempt that mattered is kept.
import { changeJson, type Fault, referenceWith } from '../fault.ts'

export const fault = {
  what: 'The record lists the last attempt only.',
  caughtBy: ['LOG-07'],
  start: referenceWith({
    body: (body, { path }) =>
      path.startsWith('/api/usage/request-logs/')
        ? changeJson(body, (json) => ({ ...json, attempt_log: json.attempt_log?.slice(-1) }))
        : body,
  }),
} satisfies Fault

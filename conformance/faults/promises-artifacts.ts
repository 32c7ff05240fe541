// It was there a moment ago.
import { changeJson, type Fault, referenceWith } from '../fault.ts'

export const fault = {
  what: 'A record names an artifact that is gone.',
  caughtBy: ['LIFE-03'],
  start: referenceWith({
    body: (body, { path }) =>
      path.startsWith('/api/usage/request-logs/')
        ? changeJson(body, (json) => ({ ...json, artifact: { available: true, bytes: 1 } }))
        : body,
  }),
} satisfies Fault

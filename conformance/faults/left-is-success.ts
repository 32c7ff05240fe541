// A 200 was sent, so it went well.
import { type Fault, referenceWith } from '../fault.ts'

export const fault = {
  what: 'A call that the client left is on record as completed.',
  caughtBy: ['LOG-06'],
  start: referenceWith({
    body: (body, { path }) =>
      path.startsWith('/api/usage/request-logs')
        ? body.replaceAll('"state":"aborted"', '"state":"completed"')
        : body,
  }),
} satisfies Fault

// The status was 200.
import { type Fault, referenceWith } from '../fault.ts'

export const fault = {
  what: 'A stream that failed in the middle is on record as completed.',
  caughtBy: ['FLOW-09'],
  start: referenceWith({
    body: (body, { path }) =>
      path.startsWith('/api/usage/request-logs/')
        ? body.replaceAll('"state":"failed"', '"state":"completed"')
        : body,
  }),
} satisfies Fault

// Open is open.
import { type Fault, referenceWith } from '../fault.ts'

export const fault = {
  what: 'The record does not say that the answer has begun.',
  caughtBy: ['LOG-03'],
  start: referenceWith({
    body: (body, { path }) =>
      path.startsWith('/api/usage/request-logs?') ? body.replaceAll('"streaming"', '"routed"') : body,
  }),
} satisfies Fault

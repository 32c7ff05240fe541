// The target file promises what the gateway does not have.
import { type Fault, referenceWith } from '../fault.ts'

export const fault = {
  what: 'The log that the target file declares is not there.',
  caughtBy: ['LOG-01', 'LOG-02', 'LOG-12'],
  start: referenceWith({
    request: ({ path }) =>
      path.startsWith('/api/usage')
        ? {
            status: 404,
            headers: { 'content-type': 'application/json' },
            body: '{"error":{"message":"not here"}}',
          }
        : undefined,
  }),
} satisfies Fault

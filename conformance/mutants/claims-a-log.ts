// The target file promises what the gateway does not have.
import { bent, type Mutant } from '../mutant.ts'

export const mutant = {
  what: 'The log that the target file declares is not there.',
  kills: ['LOG-01', 'LOG-02', 'LOG-12'],
  start: bent({
    request: ({ path }) =>
      path.startsWith('/api/usage')
        ? {
            status: 404,
            headers: { 'content-type': 'application/json' },
            body: '{"error":{"message":"not here"}}',
          }
        : undefined,
  }),
} satisfies Mutant

// The status was 200.
import { bent, type Mutant } from '../mutant.ts'

export const mutant = {
  what: 'A stream that failed in the middle is on record as completed.',
  kills: ['FLOW-09'],
  start: bent({
    body: (body, { path }) =>
      path.startsWith('/api/usage/request-logs/')
        ? body.replaceAll('"state":"failed"', '"state":"completed"')
        : body,
  }),
} satisfies Mutant

// A 200 was sent, so it went well.
import { bent, type Mutant } from '../mutant.ts'

export const mutant = {
  what: 'A call that the client left is on record as completed.',
  kills: ['LOG-06'],
  start: bent({
    body: (body, { path }) =>
      path.startsWith('/api/usage/request-logs')
        ? body.replaceAll('"state":"aborted"', '"state":"completed"')
        : body,
  }),
} satisfies Mutant

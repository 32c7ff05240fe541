// Open is open.
import { bent, type Mutant } from '../mutant.ts'

export const mutant = {
  what: 'The record does not say that the answer has begun.',
  kills: ['LOG-03'],
  start: bent({
    body: (body, { path }) =>
      path.startsWith('/api/usage/request-logs?') ? body.replaceAll('"streaming"', '"routed"') : body,
  }),
} satisfies Mutant

// It was there a moment ago.
import { bent, changeJson, type Mutant } from '../mutant.ts'

export const mutant = {
  what: 'A record names an artifact that is gone.',
  kills: ['LIFE-03'],
  start: bent({
    body: (body, { path }) =>
      path.startsWith('/api/usage/request-logs/')
        ? changeJson(body, (json) => ({ ...json, artifact: { available: true, bytes: 1 } }))
        : body,
  }),
} satisfies Mutant

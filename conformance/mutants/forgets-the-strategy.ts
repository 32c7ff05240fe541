// Where a call went, and not why.
import { bent, changeJson, type Mutant } from '../mutant.ts'

export const mutant = {
  what: 'The record does not say by which strategy the target was picked.',
  kills: ['LOG-02'],
  start: bent({
    body: (body, { path }) =>
      path.startsWith('/api/usage/request-logs/')
        ? changeJson(body, (json) => ({ ...json, strategy: null }))
        : body,
  }),
} satisfies Mutant

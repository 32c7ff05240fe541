// A good estimate needs no excuse.
import { changeJson, type Fault, referenceWith } from '../fault.ts'

export const fault = {
  what: 'An estimate is not marked as one.',
  caughtBy: ['USE-07'],
  start: referenceWith({
    body: (body, { path }) =>
      path.startsWith('/api/usage/request-logs/')
        ? changeJson(body, (json) => ({ ...json, tokens: { ...json.tokens, source: 'reported' } }))
        : body,
  }),
} satisfies Fault

// The provider on record is always the first of the list.
import { changeJson, type Fault, referenceWith } from '../fault.ts'

export const fault = {
  what: 'The record names the first provider, whoever served.',
  caughtBy: ['LOG-02'],
  start: referenceWith({
    body: (body, { path }) =>
      path.startsWith('/api/usage/request-logs/')
        ? changeJson(body, (json) => ({ ...json, resolved_provider: 'openai' }))
        : body,
  }),
} satisfies Fault

// Where a call went, and not why.
import { changeJson, type Fault, referenceWith } from '../fault.ts'

export const fault = {
  what: 'The record does not say by which strategy the target was picked.',
  caughtBy: ['LOG-02'],
  start: referenceWith({
    body: (body, { path }) =>
      path.startsWith('/api/usage/request-logs/')
        ? changeJson(body, (json) => ({ ...json, strategy: null }))
        : body,
  }),
} satisfies Fault

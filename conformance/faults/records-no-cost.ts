// An unknown price taken for none.
import { changeJson, type Fault, referenceWith } from '../fault.ts'

export const fault = {
  what: 'The record of a paid call says that it cost nothing.',
  caughtBy: ['LOG-02'],
  start: referenceWith({
    body: (body, { path }) =>
      path.startsWith('/api/usage/request-logs/')
        ? changeJson(body, (json) => ({ ...json, cost_usd: 0 }))
        : body,
  }),
} satisfies Fault

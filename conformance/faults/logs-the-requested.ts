// The record credits what was asked for.
import { changeJson, type Fault, referenceWith } from '../fault.ts'

export const fault = {
  what: 'The record names the requested model as the one that served.',
  caughtBy: ['LOG-02'],
  start: referenceWith({
    body: (body, { path }) =>
      path.startsWith('/api/usage/request-logs/')
        ? changeJson(body, (json) => ({ ...json, resolved_model: json.requested_model }))
        : body,
  }),
} satisfies Fault

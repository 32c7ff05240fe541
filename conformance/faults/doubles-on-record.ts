// Both the tap and the end add it up.
import { changeJson, type Fault, referenceWith } from '../fault.ts'

export const fault = {
  what: 'The record holds twice the tokens that were reported.',
  caughtBy: ['USE-02', 'LOG-02'],
  start: referenceWith({
    body: (body, { path }) =>
      path.startsWith('/api/usage/request-logs/')
        ? changeJson(body, (json) => ({ ...json, tokens: { ...json.tokens, input: json.tokens.input * 2 } }))
        : body,
  }),
} satisfies Fault

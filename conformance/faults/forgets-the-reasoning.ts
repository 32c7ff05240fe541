// Output is output.
import { changeJson, type Fault, referenceWith } from '../fault.ts'

export const fault = {
  what: 'Reasoning tokens are not kept apart.',
  caughtBy: ['USE-05'],
  start: referenceWith({
    body: (body, { path }) =>
      path.startsWith('/api/usage/request-logs/')
        ? changeJson(body, (json) => ({ ...json, tokens: { ...json.tokens, reasoning: null } }))
        : body,
  }),
} satisfies Fault

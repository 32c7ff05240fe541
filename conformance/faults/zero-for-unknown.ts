// A number is easier to add up than null.
import { changeJson, type Fault, referenceWith } from '../fault.ts'

export const fault = {
  what: 'Tokens that nobody reported are recorded as 0.',
  caughtBy: ['USE-04'],
  start: referenceWith({
    body: (body, { path }) =>
      path.startsWith('/api/usage/request-logs/')
        ? changeJson(body, (json) => ({
            ...json,
            tokens: { ...json.tokens, input: json.tokens?.input ?? 0, output: json.tokens?.output ?? 0 },
          }))
        : body,
  }),
} satisfies Fault

// Zero is as good as nothing.
import { changeJson, type Fault, referenceWith } from '../fault.ts'

export const fault = {
  what: 'A reported zero is recorded as unknown.',
  caughtBy: ['USE-04'],
  start: referenceWith({
    body: (body, { path }) =>
      path.startsWith('/api/usage/request-logs/')
        ? changeJson(body, (json) => ({
            ...json,
            tokens: {
              ...json.tokens,
              input: json.tokens?.input || null,
              output: json.tokens?.output || null,
            },
          }))
        : body,
  }),
} satisfies Fault

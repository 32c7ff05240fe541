// What is not finished costs nothing.
import { changeJson, type Fault, referenceWith } from '../fault.ts'

export const fault = {
  what: 'A call that ended half-way has no tokens.',
  caughtBy: ['USE-07'],
  start: referenceWith({
    body: (body, { path }) =>
      path.startsWith('/api/usage/request-logs/')
        ? changeJson(body, (json) =>
            json.state === 'completed'
              ? json
              : { ...json, tokens: { ...json.tokens, input: null, output: null } },
          )
        : body,
  }),
} satisfies Fault

// An error that repeats what was asked.
import { type Fault, referenceWith } from '../fault.ts'

export const fault = {
  what: 'A key in a query is repeated in the answer.',
  caughtBy: ['KEEP-01'],
  start: referenceWith({
    body: (body, { path }) =>
      path.includes('?key=') ? body.replace('"message":"', `"message":"${path} `) : body,
  }),
} satisfies Fault

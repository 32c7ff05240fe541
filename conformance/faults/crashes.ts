// Recursion without an end.
import { type Fault, referenceWith } from '../fault.ts'

export const fault = {
  what: 'A body that is nested deeply ends the process.',
  caughtBy: ['FAIL-06'],
  asCommand: true,
  start: referenceWith({
    request({ body }) {
      if (body.includes('[[[[')) process.exit(1)
    },
  }),
} satisfies Fault

// Only known headers are passed on, and this is not one.
import { type Fault, referenceWith } from '../fault.ts'

export const fault = {
  what: 'Retry-After is not passed on.',
  caughtBy: ['FAIL-04'],
  start: referenceWith({
    head(head) {
      delete head.headers['retry-after']
    },
  }),
} satisfies Fault

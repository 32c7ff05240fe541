// Clients need not know.
import { callIn, type Fault, referenceWith } from '../fault.ts'

export const fault = {
  what: 'A 4xx of the provider becomes a 500.',
  caughtBy: ['FAIL-04'],
  start: referenceWith({
    head(head, wanted) {
      if (callIn(wanted) && head.status >= 400) head.status = 500
    },
  }),
} satisfies Fault

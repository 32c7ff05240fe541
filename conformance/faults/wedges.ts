// One bad request holds a lock that nobody gives back.
import { callIn, type Fault, referenceWith } from '../fault.ts'

export const fault = {
  what: 'After thirty requests calls are not answered any more.',
  caughtBy: ['FAIL-06'],
  start: referenceWith({
    async request(wanted, { count }) {
      if (count > 30 && callIn(wanted)) await new Promise(() => {})
    },
  }),
} satisfies Fault

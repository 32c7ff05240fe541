// A nuance.
import { changeCall, type Fault, referenceWith } from '../fault.ts'

export const fault = {
  what: 'Requests that differ get the same answer from the cache.',
  caughtBy: ['USE-08'],
  start: referenceWith({
    request(wanted) {
      changeCall(wanted, ({ temperature: _, ...rest }) => rest)
    },
  }),
} satisfies Fault

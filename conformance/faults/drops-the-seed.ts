// The request is built anew from the fields that somebody knew.
import { changeCall, type Fault, referenceWith } from '../fault.ts'

export const fault = {
  what: 'The field seed is lost on the way.',
  caughtBy: ['ROUTE-05'],
  start: referenceWith({
    request(wanted) {
      changeCall(wanted, ({ seed: _, ...rest }) => rest)
    },
  }),
} satisfies Fault

// A queue with room for a few.
import { type Fault, referenceWith } from '../fault.ts'

export const fault = {
  what: 'One event in the middle of a stream is lost.',
  caughtBy: ['FLOW-01'],
  start: referenceWith({
    event: (event, index) => (index === 3 ? [] : [event]),
  }),
} satisfies Fault

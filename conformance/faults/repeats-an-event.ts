// A retry inside the relay.
import { type Fault, referenceWith } from '../fault.ts'

export const fault = {
  what: 'One event arrives twice.',
  caughtBy: ['FLOW-01'],
  start: referenceWith({
    event: (event, index) => (index === 3 ? [event, event] : [event]),
  }),
} satisfies Fault

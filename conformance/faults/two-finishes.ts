// A finish reason for the provider and one for the client.
import { type Fault, referenceWith } from '../fault.ts'

export const fault = {
  what: 'The finish reason is given twice.',
  caughtBy: ['FLOW-07'],
  start: referenceWith({
    event: (event) => (/"finish_reason":"/.test(event) ? [event, event] : [event]),
  }),
} satisfies Fault

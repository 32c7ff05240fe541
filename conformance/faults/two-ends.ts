// The relay and the handler both say goodbye.
import { type Fault, referenceWith } from '../fault.ts'

export const fault = {
  what: 'A stream ends with two end marks.',
  caughtBy: ['FLOW-07'],
  start: referenceWith({
    event: (event) => (event.includes('[DONE]') ? [event, event] : [event]),
  }),
} satisfies Fault

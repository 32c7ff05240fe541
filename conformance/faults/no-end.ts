// The end mark is an event of the provider alone.
import { type Fault, referenceWith } from '../fault.ts'

export const fault = {
  what: 'The end mark is left out.',
  caughtBy: ['FLOW-07'],
  start: referenceWith({
    event: (event) => (event.includes('[DONE]') ? [] : [event]),
  }),
} satisfies Fault

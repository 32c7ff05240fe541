// An error after the beginning is logged, not sent.
import { type Fault, referenceWith } from '../fault.ts'

export const fault = {
  what: 'An error inside a stream does not reach the client.',
  caughtBy: ['FLOW-09'],
  start: referenceWith({
    event: (event) => (event.includes('"error"') ? ['data: [DONE]\n\n'] : [event]),
    hidesCuts: true,
  }),
} satisfies Fault

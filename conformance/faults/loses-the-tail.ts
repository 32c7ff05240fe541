// A buffer with an end that nobody thought of.
import { type Fault, referenceWith } from '../fault.ts'

export const fault = {
  what: 'Of a long stream the last events of text are lost.',
  caughtBy: ['FLOW-01'],
  start: referenceWith({
    event: (event, index) => (index > 5_000 && /"content":\s*"\d/.test(event) ? [] : [event]),
  }),
} satisfies Fault

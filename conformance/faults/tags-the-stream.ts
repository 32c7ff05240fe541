// The route is hidden in the text.
import { type Fault, referenceWith } from '../fault.ts'

export const fault = {
  what: 'A tag with the route stands in the first event of a stream.',
  caughtBy: ['TELL-05'],
  start: referenceWith({
    event: (event) => [event.replace(/"content":"(?=[^"])/, '"content":"<route>openai</route>')],
  }),
} satisfies Fault

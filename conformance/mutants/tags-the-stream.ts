// The route is hidden in the text.
import { bent, type Mutant } from '../mutant.ts'

export const mutant = {
  what: 'A tag with the route stands in the first event of a stream.',
  kills: ['TELL-05'],
  start: bent({
    event: (event) => [event.replace(/"content":"(?=[^"])/, '"content":"<route>openai</route>')],
  }),
} satisfies Mutant

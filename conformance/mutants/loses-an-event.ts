// A queue with room for a few.
import { bent, type Mutant } from '../mutant.ts'

export const mutant = {
  what: 'One event in the middle of a stream is lost.',
  kills: ['FLOW-01'],
  start: bent({
    event: (event, index) => (index === 3 ? [] : [event]),
  }),
} satisfies Mutant

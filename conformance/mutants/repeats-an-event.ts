// A retry inside the relay.
import { bent, type Mutant } from '../mutant.ts'

export const mutant = {
  what: 'One event arrives twice.',
  kills: ['FLOW-01'],
  start: bent({
    event: (event, index) => (index === 3 ? [event, event] : [event]),
  }),
} satisfies Mutant

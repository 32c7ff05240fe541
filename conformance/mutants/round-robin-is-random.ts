// In the long run it is the same.
import { bent, type Mutant } from '../mutant.ts'

export const mutant = {
  what: 'The strategy round-robin takes no turns.',
  kills: ['ROUTE-10'],
  start: bent({
    config: (text) => text.replace('round-robin: { strategy: round-robin', 'round-robin: { strategy: random'),
  }),
} satisfies Mutant

// Nobody reads the weights.
import { bent, type Mutant } from '../mutant.ts'

export const mutant = {
  what: 'The strategy weighted gives every target the same share.',
  kills: ['ROUTE-10'],
  start: bent({
    config: (text) => text.replace(/weight: \d+/g, 'weight: 1'),
  }),
} satisfies Mutant

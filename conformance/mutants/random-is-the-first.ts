// Chance is hard to test.
import { bent, type Mutant } from '../mutant.ts'

export const mutant = {
  what: 'The strategy random always takes the first target.',
  kills: ['ROUTE-10'],
  start: bent({
    config: (text) => text.replace('random: { strategy: random', 'random: { strategy: priority'),
  }),
} satisfies Mutant

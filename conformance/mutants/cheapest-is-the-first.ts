// The table is sorted by price, surely.
import { bent, type Mutant } from '../mutant.ts'

export const mutant = {
  what: 'The strategy cheapest takes the first target.',
  kills: ['ROUTE-10'],
  start: bent({
    config: (text) => text.replace('cheapest: { strategy: cheapest', 'cheapest: { strategy: priority'),
  }),
} satisfies Mutant

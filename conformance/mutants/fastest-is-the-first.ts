// The first has always been quick.
import { bent, type Mutant } from '../mutant.ts'

export const mutant = {
  what: 'The strategy fastest does not measure.',
  kills: ['ROUTE-10'],
  start: bent({
    config: (text) => text.replace('fastest: { strategy: fastest', 'fastest: { strategy: priority'),
  }),
} satisfies Mutant

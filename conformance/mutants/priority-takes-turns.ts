// Fair is fair.
import { bent, type Mutant } from '../mutant.ts'

export const mutant = {
  what: 'The strategy priority does not begin with the first target.',
  kills: ['ROUTE-10'],
  start: bent({
    config: (text) => text.replace('priority: { targets', 'priority: { strategy: round-robin, targets'),
  }),
} satisfies Mutant

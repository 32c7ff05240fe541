// Each gets as many, so each must be as busy.
import { bent, type Mutant } from '../mutant.ts'

export const mutant = {
  what: 'The strategy least-busy takes turns.',
  kills: ['ROUTE-10'],
  start: bent({
    config: (text) =>
      text.replace('least-busy: { strategy: least-busy', 'least-busy: { strategy: round-robin'),
  }),
} satisfies Mutant

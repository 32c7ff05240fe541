// One target can carry it all.
import { bent, type Mutant } from '../mutant.ts'

export const mutant = {
  what: 'The strategy least-busy does not look at load.',
  kills: ['ROUTE-10'],
  start: bent({
    config: (text) => text.replace('least-busy: { strategy: least-busy', 'least-busy: { strategy: priority'),
  }),
} satisfies Mutant

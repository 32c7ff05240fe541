// On an idle machine nobody sees a difference.
import { bent, type Mutant } from '../mutant.ts'

export const mutant = {
  what: 'The strategy least-busy draws at random.',
  kills: ['ROUTE-10'],
  start: bent({
    config: (text) => text.replace('least-busy: { strategy: least-busy', 'least-busy: { strategy: random'),
  }),
} satisfies Mutant

// One bad request holds a lock that nobody gives back.
import { bent, callIn, type Mutant } from '../mutant.ts'

export const mutant = {
  what: 'After thirty requests calls are not answered any more.',
  kills: ['FAIL-06'],
  start: bent({
    async request(wanted, { count }) {
      if (count > 30 && callIn(wanted)) await new Promise(() => {})
    },
  }),
} satisfies Mutant

// Is it well again? A short call will tell.
import { bent, type Mutant } from '../mutant.ts'

export const mutant = {
  what: 'A target that cools is probed with a call.',
  kills: ['ROUTE-09'],
  start: bent({
    upstream: {
      head({ status }, { spend }) {
        if (status === 429) setTimeout(() => spend().catch(() => {}), 1_200).unref()
      },
    },
  }),
} satisfies Mutant

// A key is tried out before anybody asks.
import { bent, type Mutant } from '../mutant.ts'

export const mutant = {
  what: 'The start makes a call, to see whether the key works.',
  kills: ['PURE-02'],
  start: bent({
    started({ spend }) {
      spend().catch(() => {})
    },
  }),
} satisfies Mutant

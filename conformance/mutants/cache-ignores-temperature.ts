// A nuance.
import { bent, changeCall, type Mutant } from '../mutant.ts'

export const mutant = {
  what: 'Requests that differ get the same answer from the cache.',
  kills: ['USE-08'],
  start: bent({
    request(wanted) {
      changeCall(wanted, ({ temperature: _, ...rest }) => rest)
    },
  }),
} satisfies Mutant

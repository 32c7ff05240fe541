// The request is built anew from the fields that somebody knew.
import { bent, changeCall, type Mutant } from '../mutant.ts'

export const mutant = {
  what: 'The field seed is lost on the way.',
  kills: ['ROUTE-05'],
  start: bent({
    request(wanted) {
      changeCall(wanted, ({ seed: _, ...rest }) => rest)
    },
  }),
} satisfies Mutant

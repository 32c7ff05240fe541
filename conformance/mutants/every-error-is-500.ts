// Clients need not know.
import { bent, callIn, type Mutant } from '../mutant.ts'

export const mutant = {
  what: 'A 4xx of the provider becomes a 500.',
  kills: ['FAIL-04'],
  start: bent({
    head(head, wanted) {
      if (callIn(wanted) && head.status >= 400) head.status = 500
    },
  }),
} satisfies Mutant

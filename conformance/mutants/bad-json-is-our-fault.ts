// Whatever is thrown is a 500.
import { bent, callIn, type Mutant } from '../mutant.ts'

export const mutant = {
  what: 'Malformed JSON is answered with 500.',
  kills: ['FAIL-02'],
  start: bent({
    head(head, wanted) {
      if (wanted.method === 'POST' && callIn(wanted) === null) head.status = 500
    },
  }),
} satisfies Mutant

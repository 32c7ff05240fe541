// The browser will look after it.
import { bent, type Mutant } from '../mutant.ts'

export const mutant = {
  what: 'A page of a foreign origin is served.',
  kills: ['KEEP-06'],
  start: bent({
    request({ headers }) {
      delete headers.origin
    },
  }),
} satisfies Mutant

// Only known headers are passed on, and this is not one.
import { bent, type Mutant } from '../mutant.ts'

export const mutant = {
  what: 'Retry-After is not passed on.',
  kills: ['FAIL-04'],
  start: bent({
    head(head) {
      delete head.headers['retry-after']
    },
  }),
} satisfies Mutant

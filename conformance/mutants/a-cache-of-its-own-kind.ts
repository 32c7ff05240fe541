// MISS sounds so negative.
import { bent, type Mutant } from '../mutant.ts'

export const mutant = {
  what: 'The cache header says NONE.',
  kills: ['TELL-04'],
  start: bent({
    head({ headers }) {
      if (headers['x-gateway-cache']) headers['x-gateway-cache'] = 'NONE'
    },
  }),
} satisfies Mutant

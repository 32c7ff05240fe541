// Two parts of the program each make an id.
import { randomUUID } from 'node:crypto'
import { bent, type Mutant } from '../mutant.ts'

export const mutant = {
  what: 'The request id in the head is not the one on record.',
  kills: ['TELL-03'],
  start: bent({
    head({ headers }) {
      if (headers['x-gateway-request-id']) headers['x-gateway-request-id'] = randomUUID()
    },
  }),
} satisfies Mutant

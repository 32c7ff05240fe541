// Two parts of the program each make an id.
import { randomUUID } from 'node:crypto'
import { type Fault, referenceWith } from '../fault.ts'

export const fault = {
  what: 'The request id in the headers is not the one on record.',
  caughtBy: ['TELL-03'],
  start: referenceWith({
    head({ headers }) {
      if (headers['x-gateway-request-id']) headers['x-gateway-request-id'] = randomUUID()
    },
  }),
} satisfies Fault

// MISS sounds so negative.
import { type Fault, referenceWith } from '../fault.ts'

export const fault = {
  what: 'The cache header says NONE.',
  caughtBy: ['TELL-04'],
  start: referenceWith({
    head({ headers }) {
      if (headers['x-gateway-cache']) headers['x-gateway-cache'] = 'NONE'
    },
  }),
} satisfies Fault

// Nobody reads the weights.
import { type Fault, referenceWith } from '../fault.ts'

export const fault = {
  what: 'The strategy weighted gives every target the same share.',
  caughtBy: ['ROUTE-10'],
  start: referenceWith({
    config: (text) => text.replace(/weight: \d+/g, 'weight: 1'),
  }),
} satisfies Fault

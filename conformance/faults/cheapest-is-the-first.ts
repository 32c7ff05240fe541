// The table is sorted by price, surely.
import { type Fault, referenceWith } from '../fault.ts'

export const fault = {
  what: 'The strategy cheapest takes the first target.',
  caughtBy: ['ROUTE-10'],
  start: referenceWith({
    config: (text) => text.replace('cheapest: { strategy: cheapest', 'cheapest: { strategy: priority'),
  }),
} satisfies Fault

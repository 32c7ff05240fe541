// Chance is hard to test.
import { type Fault, referenceWith } from '../fault.ts'

export const fault = {
  what: 'The strategy random always takes the first target.',
  caughtBy: ['ROUTE-10'],
  start: referenceWith({
    config: (text) => text.replace('random: { strategy: random', 'random: { strategy: priority'),
  }),
} satisfies Fault

// Fair is fair.
import { type Fault, referenceWith } from '../fault.ts'

export const fault = {
  what: 'The strategy priority does not begin with the first target.',
  caughtBy: ['ROUTE-10'],
  start: referenceWith({
    config: (text) => text.replace('priority: { targets', 'priority: { strategy: round-robin, targets'),
  }),
} satisfies Fault

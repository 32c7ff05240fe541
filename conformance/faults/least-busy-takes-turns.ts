// Each gets as many, so each must be as busy.
import { type Fault, referenceWith } from '../fault.ts'

export const fault = {
  what: 'The strategy least-busy takes turns.',
  caughtBy: ['ROUTE-10'],
  start: referenceWith({
    config: (text) =>
      text.replace('least-busy: { strategy: least-busy', 'least-busy: { strategy: round-robin'),
  }),
} satisfies Fault

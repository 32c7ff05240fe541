// One target can carry it all.
import { type Fault, referenceWith } from '../fault.ts'

export const fault = {
  what: 'The strategy least-busy does not look at load.',
  caughtBy: ['ROUTE-10'],
  start: referenceWith({
    config: (text) => text.replace('least-busy: { strategy: least-busy', 'least-busy: { strategy: priority'),
  }),
} satisfies Fault

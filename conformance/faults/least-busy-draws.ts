// On an idle machine nobody sees a difference.
import { type Fault, referenceWith } from '../fault.ts'

export const fault = {
  what: 'The strategy least-busy draws at random.',
  caughtBy: ['ROUTE-10'],
  start: referenceWith({
    config: (text) => text.replace('least-busy: { strategy: least-busy', 'least-busy: { strategy: random'),
  }),
} satisfies Fault

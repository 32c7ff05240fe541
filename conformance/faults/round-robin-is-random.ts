// In the long run it is the same.
import { type Fault, referenceWith } from '../fault.ts'

export const fault = {
  what: 'The strategy round-robin takes no turns.',
  caughtBy: ['ROUTE-10'],
  start: referenceWith({
    config: (text) => text.replace('round-robin: { strategy: round-robin', 'round-robin: { strategy: random'),
  }),
} satisfies Fault

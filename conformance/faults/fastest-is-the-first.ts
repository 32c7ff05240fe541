// The first has always been quick.
import { type Fault, referenceWith } from '../fault.ts'

export const fault = {
  what: 'The strategy fastest does not measure.',
  caughtBy: ['ROUTE-10'],
  start: referenceWith({
    config: (text) => text.replace('fastest: { strategy: fastest', 'fastest: { strategy: priority'),
  }),
} satisfies Fault

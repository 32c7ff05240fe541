// A restart does not take long.
import { type Fault, referenceWith } from '../fault.ts'

export const fault = {
  what: 'A changed configuration file is not taken up.',
  caughtBy: ['LIFE-07'],
  start: referenceWith({
    config: (text) => text,
  }),
} satisfies Fault

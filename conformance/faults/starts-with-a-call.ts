// A key is tried out before anybody asks.
import { type Fault, referenceWith } from '../fault.ts'

export const fault = {
  what: 'The start makes a call, to see whether the key works.',
  caughtBy: ['PURE-02'],
  start: referenceWith({
    started({ spend }) {
      spend().catch(() => {})
    },
  }),
} satisfies Fault

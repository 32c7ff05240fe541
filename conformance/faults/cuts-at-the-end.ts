// Told to end, it ends.
import { type Fault, referenceWith } from '../fault.ts'

export const fault = {
  what: 'Open streams are cut when it is told to end.',
  caughtBy: ['LIFE-02'],
  start: referenceWith({
    stopping: (cut) => cut(),
  }),
} satisfies Fault

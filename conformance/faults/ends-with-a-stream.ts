// An error that nobody listens for.
import { type Fault, referenceWith } from '../fault.ts'

export const fault = {
  what: 'A stream that breaks, on either side, ends the process.',
  caughtBy: ['FLOW-06', 'LOG-01', 'LOG-06', 'LOG-07'],
  asCommand: true,
  start: referenceWith({
    cut: () => process.exit(1),
  }),
} satisfies Fault

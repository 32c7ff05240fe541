// Each takes a directory of its own, whatever it was told.
import { type Fault, referenceWith } from '../fault.ts'

export const fault = {
  what: 'A second process on the same data comes up.',
  caughtBy: ['LIFE-05'],
  start: referenceWith({
    config: (text) => text.replace('/data\n', `/data-${process.pid}-${Math.random()}\n`),
  }),
} satisfies Fault

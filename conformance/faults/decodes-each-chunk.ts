// Every piece of a stream is made a text by itself.
import { type Fault, referenceWith } from '../fault.ts'

export const fault = {
  what: 'Characters that are split between two pieces are garbled.',
  caughtBy: ['FLOW-02'],
  start: referenceWith({
    upstream: { chunk: (bytes) => bytes.toString('utf8') },
  }),
} satisfies Fault

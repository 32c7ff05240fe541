// Every line is taken for data.
import { type Fault, referenceWith } from '../fault.ts'

export const fault = {
  what: 'A comment between two events breaks the stream.',
  caughtBy: ['FLOW-04'],
  start: referenceWith({
    upstream: { chunk: (bytes) => bytes.toString('latin1').replaceAll(': a comment', 'data: a comment') },
  }),
} satisfies Fault

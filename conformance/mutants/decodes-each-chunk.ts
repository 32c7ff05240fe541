// Every piece of a stream is made a text by itself.
import { bent, type Mutant } from '../mutant.ts'

export const mutant = {
  what: 'Characters that are split between two pieces are garbled.',
  kills: ['FLOW-02'],
  start: bent({
    upstream: { chunk: (bytes) => bytes.toString('utf8') },
  }),
} satisfies Mutant

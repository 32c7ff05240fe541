// Every line is taken for data.
import { bent, type Mutant } from '../mutant.ts'

export const mutant = {
  what: 'A comment between two events breaks the stream.',
  kills: ['FLOW-04'],
  start: bent({
    upstream: { chunk: (bytes) => bytes.toString('latin1').replaceAll(': a comment', 'data: a comment') },
  }),
} satisfies Mutant

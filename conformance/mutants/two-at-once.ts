// Each takes a directory of its own, whatever it was told.
import { bent, type Mutant } from '../mutant.ts'

export const mutant = {
  what: 'A second process on the same data comes up.',
  kills: ['LIFE-05'],
  start: bent({
    config: (text) => text.replace('/data\n', `/data-${process.pid}-${Math.random()}\n`),
  }),
} satisfies Mutant

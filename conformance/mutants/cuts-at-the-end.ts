// Told to end, it ends.
import { bent, type Mutant } from '../mutant.ts'

export const mutant = {
  what: 'Open streams are cut when it is told to end.',
  kills: ['LIFE-02'],
  start: bent({
    stopping: (cut) => cut(),
  }),
} satisfies Mutant

// A restart does not take long.
import { bent, type Mutant } from '../mutant.ts'

export const mutant = {
  what: 'A changed configuration file is not taken up.',
  kills: ['LIFE-07'],
  start: bent({
    config: (text) => text,
  }),
} satisfies Mutant

// An error that nobody listens for.
import { bent, type Mutant } from '../mutant.ts'

export const mutant = {
  what: 'A stream that breaks, on either side, ends the process.',
  kills: ['FLOW-06', 'LOG-01', 'LOG-06', 'LOG-07'],
  asCommand: true,
  start: bent({
    cut: () => process.exit(1),
  }),
} satisfies Mutant

// Recursion without an end.
import { bent, type Mutant } from '../mutant.ts'

export const mutant = {
  what: 'A body that is nested deeply ends the process.',
  kills: ['FAIL-06'],
  asCommand: true,
  start: bent({
    request({ body }) {
      if (body.includes('[[[[')) process.exit(1)
    },
  }),
} satisfies Mutant

// The answer is fetched to its end, whoever reads it.
import { bent, type Mutant } from '../mutant.ts'

export const mutant = {
  what: 'The provider is not told when the client goes away.',
  kills: ['FLOW-05'],
  start: bent({ ignoresLeaving: true }),
} satisfies Mutant

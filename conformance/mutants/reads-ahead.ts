// Memory is cheap.
import { bent, type Mutant } from '../mutant.ts'

export const mutant = {
  what: 'The provider is read to its end, however slow the client is.',
  kills: ['FLOW-10'],
  start: bent({ ignoresSlowness: true }),
} satisfies Mutant

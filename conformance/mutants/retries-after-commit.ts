// A stream that broke is begun again.
import { bent, type Mutant } from '../mutant.ts'

export const mutant = {
  what: 'A stream that is cut is asked for once more.',
  kills: ['ROUTE-08'],
  start: bent({
    cut: async (wanted, { gateway }) => (await gateway(wanted)).body,
  }),
} satisfies Mutant

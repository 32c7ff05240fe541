// For support, the upstream request is described in full.
import { bent, callIn, type Mutant } from '../mutant.ts'

export const mutant = {
  what: 'A header of the answer holds the provider key.',
  kills: ['KEEP-01', 'KEEP-02'],
  start: bent({
    head({ headers }, wanted, { env }) {
      if (callIn(wanted)) headers['x-upstream-authorization'] = `Bearer ${env.OPENAI_KEY}`
    },
  }),
} satisfies Mutant

// For support, the upstream request is described in full.
import { callIn, type Fault, referenceWith } from '../fault.ts'

export const fault = {
  what: 'A header of the answer holds the provider key.',
  caughtBy: ['KEEP-01', 'KEEP-02'],
  start: referenceWith({
    head({ headers }, wanted, { env }) {
      if (callIn(wanted)) headers['x-upstream-authorization'] = `Bearer ${env.OPENAI_KEY}`
    },
  }),
} satisfies Fault

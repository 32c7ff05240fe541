// Health probes that are inferences.
import { bent, type Mutant } from '../mutant.ts'

export const mutant = {
  what: 'While nothing is asked, a provider is probed with a call every second.',
  kills: ['PURE-02'],
  start: bent({
    started({ spend }) {
      setInterval(() => spend().catch(() => {}), 1_000).unref()
    },
  }),
} satisfies Mutant

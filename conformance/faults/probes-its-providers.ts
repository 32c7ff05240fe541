// Health probes that are inferences.
import { type Fault, referenceWith } from '../fault.ts'

export const fault = {
  what: 'While nothing is asked, a provider is probed with a call every second.',
  caughtBy: ['PURE-02'],
  start: referenceWith({
    started({ spend }) {
      setInterval(() => spend().catch(() => {}), 1_000).unref()
    },
  }),
} satisfies Fault

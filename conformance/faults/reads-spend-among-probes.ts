// The noise that would hide it is its own.
import { type Fault, referenceWith } from '../fault.ts'

export const fault = {
  what: 'Every read makes a call, and a probe every two seconds makes one too.',
  caughtBy: ['PURE-01'],
  start: referenceWith({
    started({ spend }) {
      setInterval(() => spend().catch(() => {}), 2_000).unref()
    },
    async request({ method }, { spend }) {
      if (method === 'GET' || method === 'HEAD') await spend()
    },
  }),
} satisfies Fault

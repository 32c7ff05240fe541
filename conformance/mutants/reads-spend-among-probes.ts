// The noise that would hide it is its own.
import { bent, type Mutant } from '../mutant.ts'

export const mutant = {
  what: 'Every read makes a call, and a probe every two seconds makes one too.',
  kills: ['PURE-01'],
  start: bent({
    started({ spend }) {
      setInterval(() => spend().catch(() => {}), 2_000).unref()
    },
    async request({ method }, { spend }) {
      if (method === 'GET' || method === 'HEAD') await spend()
    },
  }),
} satisfies Mutant

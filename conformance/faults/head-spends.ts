// HEAD is served by the code of POST.
import { type Fault, referenceWith } from '../fault.ts'

export const fault = {
  what: 'A HEAD on the model list makes a call.',
  caughtBy: ['PURE-01'],
  start: referenceWith({
    async request({ method, path }, { spend }) {
      if (method === 'HEAD' && path.startsWith('/v1/models')) await spend()
    },
  }),
} satisfies Fault

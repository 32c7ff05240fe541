// HEAD is served by the code of POST.
import { bent, type Mutant } from '../mutant.ts'

export const mutant = {
  what: 'A HEAD on the model list makes a call.',
  kills: ['PURE-01'],
  start: bent({
    async request({ method, path }, { spend }) {
      if (method === 'HEAD' && path.startsWith('/v1/models')) await spend()
    },
  }),
} satisfies Mutant

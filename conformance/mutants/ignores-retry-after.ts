// How long a target rests is ours to say.
import { bent, type Mutant } from '../mutant.ts'

export const mutant = {
  what: 'Retry-After of a provider is not honoured.',
  kills: ['ROUTE-09'],
  start: bent({
    upstream: {
      head({ headers }) {
        delete headers['retry-after']
      },
    },
  }),
} satisfies Mutant

// Perhaps it works this time.
import { bent, type Mutant } from '../mutant.ts'

export const mutant = {
  what: 'A target that failed is tried again by the next call.',
  kills: ['ROUTE-09'],
  start: bent({
    config: (text) => (text.includes('resilience:') ? text : `${text}resilience: { cooldown: 0s }\n`),
    upstream: {
      head({ headers }) {
        delete headers['retry-after']
      },
    },
  }),
} satisfies Mutant

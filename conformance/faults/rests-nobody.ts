// Perhaps it works this time.
import { type Fault, referenceWith } from '../fault.ts'

export const fault = {
  what: 'A target that failed is tried again by the next call.',
  caughtBy: ['ROUTE-09'],
  start: referenceWith({
    config: (text) => (text.includes('resilience:') ? text : `${text}resilience: { cooldown: 0s }\n`),
    upstream: {
      head({ headers }) {
        delete headers['retry-after']
      },
    },
  }),
} satisfies Fault

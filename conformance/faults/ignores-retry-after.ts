// How long a target rests is ours to say.
import { type Fault, referenceWith } from '../fault.ts'

export const fault = {
  what: 'Retry-After of a provider is not honoured.',
  caughtBy: ['ROUTE-09'],
  start: referenceWith({
    upstream: {
      head({ headers }) {
        delete headers['retry-after']
      },
    },
  }),
} satisfies Fault

// Is it well again? A short call will tell.
import { type Fault, referenceWith } from '../fault.ts'

export const fault = {
  what: 'A target that cools is probed with a call.',
  caughtBy: ['ROUTE-09'],
  start: referenceWith({
    upstream: {
      head({ status }, { spend }) {
        if (status === 429) setTimeout(() => spend().catch(() => {}), 1_200).unref()
      },
    },
  }),
} satisfies Fault

// A stream that broke is begun again.
import { type Fault, referenceWith } from '../fault.ts'

export const fault = {
  what: 'A stream that is cut is asked for once more.',
  caughtBy: ['ROUTE-08'],
  start: referenceWith({
    cut: async (wanted, { gateway }) => (await gateway(wanted)).body,
  }),
} satisfies Fault

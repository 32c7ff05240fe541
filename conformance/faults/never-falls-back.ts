// One target is enough.
import { changeCall, type Fault, referenceWith } from '../fault.ts'

export const fault = {
  what: 'After a failure no other target is tried.',
  caughtBy: ['ROUTE-07'],
  start: referenceWith({
    request(wanted) {
      changeCall(wanted, (call) => (call.model === 'auto' ? { ...call, model: 'auto/single' } : call))
    },
  }),
} satisfies Fault

// One target is enough.
import { bent, changeCall, type Mutant } from '../mutant.ts'

export const mutant = {
  what: 'After a failure no other target is tried.',
  kills: ['ROUTE-07'],
  start: bent({
    request(wanted) {
      changeCall(wanted, (call) => (call.model === 'auto' ? { ...call, model: 'auto/single' } : call))
    },
  }),
} satisfies Mutant

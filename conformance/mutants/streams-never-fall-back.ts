// A stream has begun as soon as it was asked for.
import { bent, changeCall, type Mutant } from '../mutant.ts'

export const mutant = {
  what: 'After a failure a streamed call is not tried elsewhere.',
  kills: ['ROUTE-07'],
  start: bent({
    request(wanted) {
      changeCall(wanted, (call) =>
        call.stream && call.model === 'auto' ? { ...call, model: 'auto/single' } : call,
      )
    },
  }),
} satisfies Mutant

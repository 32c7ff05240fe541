// A stream has begun as soon as it was asked for.
import { changeCall, type Fault, referenceWith } from '../fault.ts'

export const fault = {
  what: 'After a failure a streamed call is not tried elsewhere.',
  caughtBy: ['ROUTE-07'],
  start: referenceWith({
    request(wanted) {
      changeCall(wanted, (call) =>
        call.stream && call.model === 'auto' ? { ...call, model: 'auto/single' } : call,
      )
    },
  }),
} satisfies Fault

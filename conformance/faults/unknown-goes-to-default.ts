// An unknown model is a typing error, surely.
import { changeCall, type Fault, referenceWith } from '../fault.ts'

export const fault = {
  what: 'An unknown model id is sent to the default route.',
  caughtBy: ['ROUTE-03'],
  start: referenceWith({
    request(wanted) {
      changeCall(wanted, (call) =>
        String(call.model).startsWith('no-such') ? { ...call, model: 'auto' } : call,
      )
    },
  }),
} satisfies Fault

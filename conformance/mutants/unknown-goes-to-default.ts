// An unknown model is a typing error, surely.
import { bent, changeCall, type Mutant } from '../mutant.ts'

export const mutant = {
  what: 'An unknown model id is sent to the default route.',
  kills: ['ROUTE-03'],
  start: bent({
    request(wanted) {
      changeCall(wanted, (call) =>
        String(call.model).startsWith('no-such') ? { ...call, model: 'auto' } : call,
      )
    },
  }),
} satisfies Mutant

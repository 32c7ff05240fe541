// A direct id is taken for a wish.
import { changeCall, type Fault, referenceWith } from '../fault.ts'

export const fault = {
  what: 'A direct provider/model id is sent through the routing table.',
  caughtBy: ['ROUTE-02'],
  start: referenceWith({
    request(wanted) {
      changeCall(wanted, (call) =>
        String(call.model).startsWith('groq/') ? { ...call, model: 'auto' } : call,
      )
    },
  }),
} satisfies Fault

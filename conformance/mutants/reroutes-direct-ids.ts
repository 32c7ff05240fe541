// A direct id is taken for a wish.
import { bent, changeCall, type Mutant } from '../mutant.ts'

export const mutant = {
  what: 'A direct provider/model id is sent through the routing table.',
  kills: ['ROUTE-02'],
  start: bent({
    request(wanted) {
      changeCall(wanted, (call) =>
        String(call.model).startsWith('groq/') ? { ...call, model: 'auto' } : call,
      )
    },
  }),
} satisfies Mutant

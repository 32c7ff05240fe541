// The operator is known to like one model best.
import { bent, changeCall, type Mutant } from '../mutant.ts'

export const mutant = {
  what: 'A route with one target is sent to another one.',
  kills: ['ROUTE-01'],
  start: bent({
    request(wanted) {
      changeCall(wanted, (call) =>
        call.model === 'auto/single' ? { ...call, model: 'groq/openai/gpt-oss-120b' } : call,
      )
    },
  }),
} satisfies Mutant

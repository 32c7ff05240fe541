// The operator is known to like one model best.
import { changeCall, type Fault, referenceWith } from '../fault.ts'

export const fault = {
  what: 'A route with one target is sent to another one.',
  caughtBy: ['ROUTE-01'],
  start: referenceWith({
    request(wanted) {
      changeCall(wanted, (call) =>
        call.model === 'auto/single' ? { ...call, model: 'groq/openai/gpt-oss-120b' } : call,
      )
    },
  }),
} satisfies Fault

// Numbers pass through integers.
import { changeCall, type Fault, referenceWith } from '../fault.ts'

export const fault = {
  what: 'Fractions are rounded on the way.',
  caughtBy: ['ROUTE-05'],
  start: referenceWith({
    request(wanted) {
      changeCall(wanted, (call) =>
        typeof call.temperature === 'number' ? { ...call, temperature: Math.round(call.temperature) } : call,
      )
    },
  }),
} satisfies Fault

// Numbers pass through integers.
import { bent, changeCall, type Mutant } from '../mutant.ts'

export const mutant = {
  what: 'Fractions are rounded on the way.',
  kills: ['ROUTE-05'],
  start: bent({
    request(wanted) {
      changeCall(wanted, (call) =>
        typeof call.temperature === 'number' ? { ...call, temperature: Math.round(call.temperature) } : call,
      )
    },
  }),
} satisfies Mutant

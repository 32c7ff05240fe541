// The head says what was asked for.
import { bent, callIn, type Mutant } from '../mutant.ts'

export const mutant = {
  what: 'The head names the requested model, not the one that served.',
  kills: ['TELL-01'],
  start: bent({
    head(head, wanted) {
      const call = callIn(wanted)
      if (call) head.headers['x-gateway-model'] = String(call.model)
    },
  }),
} satisfies Mutant

// The response headers say what was asked for.
import { callIn, type Fault, referenceWith } from '../fault.ts'

export const fault = {
  what: 'The response headers name the requested model, not the one that served.',
  caughtBy: ['TELL-01'],
  start: referenceWith({
    head(head, wanted) {
      const call = callIn(wanted)
      if (call) head.headers['x-gateway-model'] = String(call.model)
    },
  }),
} satisfies Fault

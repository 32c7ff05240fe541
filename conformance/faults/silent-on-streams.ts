// The headers are written when the body is known.
import { type Fault, referenceWith } from '../fault.ts'

export const fault = {
  what: 'Streams do not say where they come from.',
  caughtBy: ['TELL-01'],
  start: referenceWith({
    head({ headers }) {
      if (/event-stream/.test(headers['content-type'] ?? '')) delete headers['x-gateway-provider']
    },
  }),
} satisfies Fault

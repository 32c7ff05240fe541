// The headers are written when the body is known.
import { bent, type Mutant } from '../mutant.ts'

export const mutant = {
  what: 'Streams do not say where they come from.',
  kills: ['TELL-01'],
  start: bent({
    head({ headers }) {
      if (/event-stream/.test(headers['content-type'] ?? '')) delete headers['x-gateway-provider']
    },
  }),
} satisfies Mutant

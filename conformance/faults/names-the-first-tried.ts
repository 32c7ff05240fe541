// The response headers are written when the first target is picked.
import { callIn, type Fault, referenceWith } from '../fault.ts'

export const fault = {
  what: 'After a fallback the response headers name the target that failed.',
  caughtBy: ['TELL-02'],
  start: referenceWith({
    head(head, wanted) {
      if (callIn(wanted)?.model !== 'auto') return
      head.headers['x-gateway-provider'] = 'openai'
      head.headers['x-gateway-model'] = 'gpt-5-mini'
    },
  }),
} satisfies Fault

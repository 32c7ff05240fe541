// The head is written when the first target is picked.
import { bent, callIn, type Mutant } from '../mutant.ts'

export const mutant = {
  what: 'After a fallback the head names the target that failed.',
  kills: ['TELL-02'],
  start: bent({
    head(head, wanted) {
      if (callIn(wanted)?.model !== 'auto') return
      head.headers['x-gateway-provider'] = 'openai'
      head.headers['x-gateway-model'] = 'gpt-5-mini'
    },
  }),
} satisfies Mutant

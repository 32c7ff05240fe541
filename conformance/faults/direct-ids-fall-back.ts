// Helpful where it was told not to be.
import { callIn, type Fault, referenceWith } from '../fault.ts'

export const fault = {
  what: 'A direct id that fails is tried again elsewhere.',
  caughtBy: ['ROUTE-02'],
  start: referenceWith({
    async request(wanted, { gateway }) {
      const call = callIn(wanted)
      if (!String(call?.model).startsWith('openai/')) return
      const answer = await gateway(wanted)
      if (answer.status < 500) return answer
      const again = { ...call, model: 'groq/openai/gpt-oss-120b' }
      return gateway({ ...wanted, body: Buffer.from(JSON.stringify(again)) })
    },
  }),
} satisfies Fault

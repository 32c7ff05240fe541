// Every error is worth another try.
import { callIn, type Fault, referenceWith } from '../fault.ts'

export const fault = {
  what: 'A request that the provider calls wrong is sent to the next target too.',
  caughtBy: ['ROUTE-07'],
  start: referenceWith({
    async request(wanted, { gateway }) {
      const call = callIn(wanted)
      if (call?.model !== 'auto' || call.stream) return
      const answer = await gateway(wanted)
      if (answer.status !== 400) return answer
      const again = { ...call, model: 'groq/openai/gpt-oss-120b' }
      return gateway({ ...wanted, body: Buffer.from(JSON.stringify(again)) })
    },
  }),
} satisfies Fault

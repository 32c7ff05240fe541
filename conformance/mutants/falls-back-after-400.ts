// Every error is worth another try.
import { bent, callIn, type Mutant } from '../mutant.ts'

export const mutant = {
  what: 'A request that the provider calls wrong is sent to the next target too.',
  kills: ['ROUTE-07'],
  start: bent({
    async request(wanted, { gateway }) {
      const call = callIn(wanted)
      if (call?.model !== 'auto' || call.stream) return
      const answer = await gateway(wanted)
      if (answer.status !== 400) return answer
      const again = { ...call, model: 'groq/openai/gpt-oss-120b' }
      return gateway({ ...wanted, body: Buffer.from(JSON.stringify(again)) })
    },
  }),
} satisfies Mutant

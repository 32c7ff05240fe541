// The last resort is not in the table.
import { bent, callIn, type Mutant } from '../mutant.ts'

export const mutant = {
  what: 'When every target failed, a model outside the route is called.',
  kills: ['ROUTE-04'],
  start: bent({
    async request(wanted, { gateway }) {
      const call = callIn(wanted)
      if (!call || call.stream) return
      const answer = await gateway(wanted)
      if (answer.status < 500) return answer
      const again = { ...call, model: 'openai/gpt-emergency' }
      return gateway({ ...wanted, body: Buffer.from(JSON.stringify(again)) })
    },
  }),
} satisfies Mutant

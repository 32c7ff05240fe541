// The last resort is not in the table.
import { callIn, type Fault, referenceWith } from '../fault.ts'

export const fault = {
  what: 'When every target failed, a model outside the route is called.',
  caughtBy: ['ROUTE-04'],
  start: referenceWith({
    async request(wanted, { gateway }) {
      const call = callIn(wanted)
      if (!call || call.stream) return
      const answer = await gateway(wanted)
      if (answer.status < 500) return answer
      const again = { ...call, model: 'openai/gpt-emergency' }
      return gateway({ ...wanted, body: Buffer.from(JSON.stringify(again)) })
    },
  }),
} satisfies Fault

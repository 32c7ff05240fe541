// What cannot be read is left out.
import { type Fault, referenceWith } from '../fault.ts'

export const fault = {
  what: 'A parameter that makes no sense is ignored.',
  caughtBy: ['LOG-09'],
  start: referenceWith({
    async request(wanted, { gateway }) {
      if (!wanted.path.startsWith('/api/usage/request-logs?')) return
      const answer = await gateway(wanted)
      return answer.status === 400 ? gateway({ ...wanted, path: '/api/usage/request-logs' }) : answer
    },
  }),
} satisfies Fault

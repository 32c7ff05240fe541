// What cannot be read is left out.
import { bent, type Mutant } from '../mutant.ts'

export const mutant = {
  what: 'A parameter that makes no sense is ignored.',
  kills: ['LOG-09'],
  start: bent({
    async request(wanted, { gateway }) {
      if (!wanted.path.startsWith('/api/usage/request-logs?')) return
      const answer = await gateway(wanted)
      return answer.status === 400 ? gateway({ ...wanted, path: '/api/usage/request-logs' }) : answer
    },
  }),
} satisfies Mutant

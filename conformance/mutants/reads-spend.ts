// Somebody thought that a log should be summarised by a model.
import { bent, type Mutant } from '../mutant.ts'

export const mutant = {
  what: 'Reading the request log makes a call.',
  kills: ['PURE-01'],
  start: bent({
    async request({ method, path }, { spend }) {
      if (method === 'GET' && path.startsWith('/api/usage/request-logs')) await spend()
    },
  }),
} satisfies Mutant

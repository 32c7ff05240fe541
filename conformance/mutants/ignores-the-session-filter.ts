// A parameter nobody uses.
import { bent, type Mutant } from '../mutant.ts'

export const mutant = {
  what: 'The log cannot be filtered by session.',
  kills: ['LOG-08'],
  start: bent({
    request(wanted) {
      if (wanted.path.startsWith('/api/usage/request-logs?'))
        wanted.path = wanted.path.replace(/session_id=[^&]*&?/, '')
    },
  }),
} satisfies Mutant

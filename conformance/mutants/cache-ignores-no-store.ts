// Clients ask for much.
import { bent, type Mutant } from '../mutant.ts'

export const mutant = {
  what: 'Cache-Control: no-store does not matter.',
  kills: ['USE-08'],
  start: bent({
    request(wanted) {
      delete wanted.headers['cache-control']
    },
  }),
} satisfies Mutant

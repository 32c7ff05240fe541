// Proxies write what they like into Host.
import { bent, type Mutant } from '../mutant.ts'

export const mutant = {
  what: 'A foreign Host is served.',
  kills: ['KEEP-06'],
  start: bent({
    request({ headers }) {
      headers.host = 'localhost'
    },
  }),
} satisfies Mutant

// Every method is served like GET.
import { bent, CHAT, type Mutant } from '../mutant.ts'

export const mutant = {
  what: 'A POST on a read path is answered like a GET.',
  kills: ['PURE-06'],
  start: bent({
    request(wanted) {
      if (wanted.path !== CHAT) wanted.method = wanted.method === 'HEAD' ? 'HEAD' : 'GET'
    },
  }),
} satisfies Mutant

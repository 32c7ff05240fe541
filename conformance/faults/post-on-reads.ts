// Every method is served like GET.
import { CHAT, type Fault, referenceWith } from '../fault.ts'

export const fault = {
  what: 'A POST on a read path is answered like a GET.',
  caughtBy: ['PURE-06'],
  start: referenceWith({
    request(wanted) {
      if (wanted.path !== CHAT) wanted.method = wanted.method === 'HEAD' ? 'HEAD' : 'GET'
    },
  }),
} satisfies Fault

// A cache is kept warm by whoever looks.
import { callIn, type Fault, referenceWith } from '../fault.ts'

let messages: unknown

export const fault = {
  what: 'A read of the catalog sends the last call once more.',
  caughtBy: ['PURE-01', 'PURE-03'],
  start: referenceWith({
    async request(wanted, { spend }) {
      messages = callIn(wanted)?.messages ?? messages
      if (wanted.method === 'GET' && wanted.path.startsWith('/v1/models') && messages !== undefined)
        await spend({ messages })
    },
  }),
} satisfies Fault

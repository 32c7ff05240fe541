// A cache is kept warm by whoever looks.
import { bent, callIn, type Mutant } from '../mutant.ts'

let messages: unknown

export const mutant = {
  what: 'A read of the catalog sends the last call once more.',
  kills: ['PURE-01', 'PURE-03'],
  start: bent({
    async request(wanted, { spend }) {
      messages = callIn(wanted)?.messages ?? messages
      if (wanted.method === 'GET' && wanted.path.startsWith('/v1/models') && messages !== undefined)
        await spend({ messages })
    },
  }),
} satisfies Mutant

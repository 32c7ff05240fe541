// The key is checked when the answer is there.
import { bent, callIn, type Mutant } from '../mutant.ts'

export const mutant = {
  what: 'A call with a wrong key reaches the provider before it is refused.',
  kills: ['PURE-07'],
  start: bent({
    async request(wanted, { spend }) {
      const call = callIn(wanted)
      if (call && !/wbconform/.test(String(wanted.headers.authorization)))
        await spend({ messages: call.messages })
    },
  }),
} satisfies Mutant

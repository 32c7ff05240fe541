// The key is checked when the answer is there.
import { callIn, type Fault, referenceWith } from '../fault.ts'

export const fault = {
  what: 'A call with a wrong key reaches the provider before it is refused.',
  caughtBy: ['PURE-07'],
  start: referenceWith({
    async request(wanted, { spend }) {
      const call = callIn(wanted)
      if (call && !/wbconform/.test(String(wanted.headers.authorization)))
        await spend({ messages: call.messages })
    },
  }),
} satisfies Fault

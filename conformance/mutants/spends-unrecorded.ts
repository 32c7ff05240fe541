// A second opinion that nobody hears of.
import { bent, callIn, type Mutant } from '../mutant.ts'

export const mutant = {
  what: 'Every call is sent to a provider twice, and recorded once.',
  kills: ['LOG-07'],
  start: bent({
    async request(wanted, { spend }) {
      const call = callIn(wanted)
      if (call) await spend({ messages: call.messages })
    },
  }),
} satisfies Mutant

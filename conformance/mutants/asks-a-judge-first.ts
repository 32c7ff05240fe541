// Whether a body is fit to be sent is left to a model.
import { bent, callIn, type Mutant } from '../mutant.ts'

export const mutant = {
  what: 'A malformed call is refused after an inference of the gateway, with a prompt of its own.',
  kills: ['PURE-07'],
  start: bent({
    async request(wanted, { spend }) {
      if (wanted.method === 'POST' && callIn(wanted) === null) await spend()
    },
  }),
} satisfies Mutant

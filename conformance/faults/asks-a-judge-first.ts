// Whether a body is fit to be sent is left to a model.
import { callIn, type Fault, referenceWith } from '../fault.ts'

export const fault = {
  what: 'A malformed call is refused after an inference of the gateway, with a prompt of its own.',
  caughtBy: ['PURE-07'],
  start: referenceWith({
    async request(wanted, { spend }) {
      if (wanted.method === 'POST' && callIn(wanted) === null) await spend()
    },
  }),
} satisfies Fault

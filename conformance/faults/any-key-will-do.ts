// A key has to be there; which one does not matter.
import { type Fault, referenceWith } from '../fault.ts'

export const fault = {
  what: 'A wrong key is taken for a right one.',
  caughtBy: ['KEEP-03'],
  start: referenceWith({
    request(wanted, { env }) {
      if (wanted.headers.authorization) wanted.headers.authorization = `Bearer ${env.ADMIN_KEY}`
    },
  }),
} satisfies Fault

// Reading costs nothing, so it needs no key.
import { callIn, type Fault, referenceWith } from '../fault.ts'

export const fault = {
  what: 'Read endpoints are served without a key.',
  caughtBy: ['KEEP-03'],
  start: referenceWith({
    request(wanted, { env }) {
      if (!callIn(wanted)) wanted.headers.authorization = `Bearer ${env.ADMIN_KEY}`
    },
  }),
} satisfies Fault

// Every answer gets the same headers.
import { callIn, type Fault, referenceWith } from '../fault.ts'

export const fault = {
  what: 'Read endpoints carry a session header.',
  caughtBy: ['TELL-04'],
  start: referenceWith({
    head({ headers }, wanted) {
      const session = wanted.headers['x-gateway-session-id']
      if (!callIn(wanted) && session) headers['x-gateway-session-id'] = session
    },
  }),
} satisfies Fault

// Everybody has a session.
import { callIn, type Fault, referenceWith } from '../fault.ts'

export const fault = {
  what: 'A call without a session is told one.',
  caughtBy: ['TELL-04'],
  start: referenceWith({
    head({ headers }, wanted) {
      if (callIn(wanted)) headers['x-gateway-session-id'] ??= 'session-of-nobody'
    },
  }),
} satisfies Fault

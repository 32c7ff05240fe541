// Everybody has a session.
import { bent, callIn, type Mutant } from '../mutant.ts'

export const mutant = {
  what: 'A call without a session is told one.',
  kills: ['TELL-04'],
  start: bent({
    head({ headers }, wanted) {
      if (callIn(wanted)) headers['x-gateway-session-id'] ??= 'session-of-nobody'
    },
  }),
} satisfies Mutant

// Every answer gets the same headers.
import { bent, callIn, type Mutant } from '../mutant.ts'

export const mutant = {
  what: 'Read endpoints carry a session header.',
  kills: ['TELL-04'],
  start: bent({
    head({ headers }, wanted) {
      const session = wanted.headers['x-gateway-session-id']
      if (!callIn(wanted) && session) headers['x-gateway-session-id'] = session
    },
  }),
} satisfies Mutant

// Reading costs nothing, so it needs no key.
import { bent, callIn, type Mutant } from '../mutant.ts'

export const mutant = {
  what: 'Read endpoints are served without a key.',
  kills: ['KEEP-03'],
  start: bent({
    request(wanted, { env }) {
      if (!callIn(wanted)) wanted.headers.authorization = `Bearer ${env.ADMIN_KEY}`
    },
  }),
} satisfies Mutant

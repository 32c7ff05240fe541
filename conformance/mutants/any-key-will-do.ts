// A key has to be there; which one does not matter.
import { bent, type Mutant } from '../mutant.ts'

export const mutant = {
  what: 'A wrong key is taken for a right one.',
  kills: ['KEEP-03'],
  start: bent({
    request(wanted, { env }) {
      if (wanted.headers.authorization) wanted.headers.authorization = `Bearer ${env.ADMIN_KEY}`
    },
  }),
} satisfies Mutant

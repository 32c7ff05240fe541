// It is all one company.
import { bent, type Mutant } from '../mutant.ts'

export const mutant = {
  what: 'Every key sees every call.',
  kills: ['KEEP-04'],
  start: bent({
    request(wanted, { env }) {
      if (wanted.method === 'GET') wanted.headers.authorization = `Bearer ${env.ADMIN_KEY}`
    },
  }),
} satisfies Mutant

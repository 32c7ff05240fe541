// It is all one company.
import { type Fault, referenceWith } from '../fault.ts'

export const fault = {
  what: 'Every key sees every call.',
  caughtBy: ['KEEP-04'],
  start: referenceWith({
    request(wanted, { env }) {
      if (wanted.method === 'GET') wanted.headers.authorization = `Bearer ${env.ADMIN_KEY}`
    },
  }),
} satisfies Fault

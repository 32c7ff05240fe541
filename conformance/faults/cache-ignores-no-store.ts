// Clients ask for much.
import { type Fault, referenceWith } from '../fault.ts'

export const fault = {
  what: 'Cache-Control: no-store does not matter.',
  caughtBy: ['USE-08'],
  start: referenceWith({
    request(wanted) {
      delete wanted.headers['cache-control']
    },
  }),
} satisfies Fault

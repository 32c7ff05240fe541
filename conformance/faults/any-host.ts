// Proxies write what they like into Host.
import { type Fault, referenceWith } from '../fault.ts'

export const fault = {
  what: 'A foreign Host is served.',
  caughtBy: ['KEEP-06'],
  start: referenceWith({
    request({ headers }) {
      headers.host = 'localhost'
    },
  }),
} satisfies Fault

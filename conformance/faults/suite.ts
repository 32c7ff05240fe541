// What can be wrong with a gateway, and which checks of SUITE must catch it.
import type { Fault } from '../fault.ts'
import { instead } from '../fault.ts'

export const faults = {
  'says-yes': {
    what: 'Everything is answered with 200 and an empty object.',
    caughtBy: ['SUITE-01'],
    start: instead((_, response) => {
      response.writeHead(200, { 'content-type': 'application/json' }).end('{}')
    }),
  },
} satisfies Readonly<Record<string, Fault>>

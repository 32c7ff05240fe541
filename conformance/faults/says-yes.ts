// The laziest gateway there is: it does nothing.
import { type Fault, instead } from '../fault.ts'

export const fault = {
  what: 'Everything is answered with 200 and an empty object.',
  caughtBy: ['SUITE-01'],
  start: instead((_, response) => {
    response.writeHead(200, { 'content-type': 'application/json' }).end('{}')
  }),
} satisfies Fault

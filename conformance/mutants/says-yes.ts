// The laziest gateway there is: it does nothing.
import { instead, type Mutant } from '../mutant.ts'

export const mutant = {
  what: 'Everything is answered with 200 and an empty object.',
  kills: ['SUITE-01'],
  start: instead((_, response) => {
    response.writeHead(200, { 'content-type': 'application/json' }).end('{}')
  }),
} satisfies Mutant

// Must-fail gateways for the checks of SUITE.
import { instead, type MustFail } from '../gateway.ts'

export const mustFail = {
  'says-yes': {
    what: 'Every request is answered with 200 and an empty object.',
    caughtBy: ['SUITE-01'],
    start: instead((_, response) => {
      response.writeHead(200, { 'content-type': 'application/json' }).end('{}')
    }),
  },
} satisfies Readonly<Record<string, MustFail>>

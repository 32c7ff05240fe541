// Must-fail gateways with mistakes in Google's interactions that no row describes.
import { isInteractions, type MustFail } from '../gateway.ts'

export const mustFail = {
  'interactions-twice': {
    what: 'An interaction in the background is made twice.',
    caughtBy: ['INT-09/is-one-inference'],
    hooks: {
      async request(wanted, context) {
        if (isInteractions(wanted) && wanted.body.includes('"background":true')) await context.gateway(wanted)
      },
    },
  },
} satisfies Record<string, MustFail>

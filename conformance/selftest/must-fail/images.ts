// Must-fail gateways with mistakes in the handling of images.

import { changeRequest, eachBody, isImages, withoutMember } from '../dialect-hooks.ts'
import { type MustFail, onRead, RECORD } from '../gateway.ts'

export const mustFail = {
  'pictures-are-free': {
    what: 'Pictures without usage cost 0 on record.',
    caughtBy: ['IMG-01/never-0-without-usage'],
    hooks: { body: onRead(RECORD, (json) => ({ ...json, cost_usd: json.cost_usd ?? 0 })) },
  },
  'pictures-at-one-price': {
    what: 'Each call for pictures costs the same on record, whatever its usage says.',
    caughtBy: ['IMG-01/priced-by-usage'],
    hooks: {
      body: onRead(RECORD, (json) => ({ ...json, cost_usd: json.cost_usd === null ? null : 0.04 })),
    },
  },
  'pictures-of-one-size': {
    what: 'What is asked for besides the prompt is left out.',
    caughtBy: ['IMG-02/request-is-unchanged'],
    hooks: changeRequest(isImages, (json) => withoutMember(json, 'size')),
  },
  'pictures-without-usage': {
    what: 'What the provider says about its pictures is left out.',
    caughtBy: ['IMG-02/pictures-are-unchanged'],
    hooks: { body: eachBody(isImages, (json) => withoutMember(json, 'usage')) },
  },
} satisfies Record<string, MustFail>

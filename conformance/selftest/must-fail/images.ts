// Must-fail gateways with mistakes in the handling of images.

import { changeRequest, eachBody, isImages, withoutMember } from '../dialect-hooks.ts'
import { type MustFail, onRead, RECORD } from '../gateway.ts'

export const mustFail = {
  'pictures-are-free': {
    what: 'An image call without usage is recorded with a cost of 0.',
    caughtBy: ['IMG-01/never-0-without-usage'],
    hooks: { body: onRead(RECORD, (json) => ({ ...json, cost_usd: json.cost_usd ?? 0 })) },
  },
  'pictures-at-one-price': {
    what: 'All image calls have the same recorded cost, regardless of their usage.',
    caughtBy: ['IMG-01/priced-by-usage'],
    hooks: {
      body: onRead(RECORD, (json) => ({ ...json, cost_usd: json.cost_usd === null ? null : 0.04 })),
    },
  },
  'pictures-of-one-size': {
    what: 'The gateway leaves out all request fields except the prompt.',
    caughtBy: ['IMG-02/request-is-unchanged'],
    hooks: changeRequest(isImages, (json) => withoutMember(json, 'size')),
  },
  'pictures-without-usage': {
    what: "The gateway drops the provider's information about its images.",
    caughtBy: ['IMG-02/pictures-are-unchanged'],
    hooks: { body: eachBody(isImages, (json) => withoutMember(json, 'usage')) },
  },
} satisfies Record<string, MustFail>

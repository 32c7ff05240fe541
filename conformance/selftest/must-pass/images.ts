// Gateways that serve pictures in an unusual way.
import { eachBody, isImages } from '../dialect-hooks.ts'
import type { Json, MustPass } from '../gateway.ts'

export const mustPass = {
  'pictures-in-another-order': {
    what: 'The members of an answer are in another order, but its pictures are in the original order.',
    on: ['images'],
    hooks: {
      body: eachBody(isImages, (json: Json) => Object.fromEntries(Object.entries(json).reverse())),
    },
  },
} satisfies Record<string, MustPass>

// Gateways that serve pictures in an unusual way.
import { eachBody, isImages } from '../dialect-hooks.ts'
import type { Json, MustPass } from '../gateway.ts'

export const mustPass = {
  'pictures-in-another-order': {
    what: 'The members of an answer with pictures are in another order; the pictures are not.',
    on: ['images'],
    hooks: {
      body: eachBody(isImages, (json: Json) => Object.fromEntries(Object.entries(json).reverse())),
    },
  },
} satisfies Record<string, MustPass>

// Must-fail gateways with mistakes in the endpoints for Google's clients.

import { isGemini } from '../dialect-hooks.ts'
import { type Json, type MustFail, onRead } from '../gateway.ts'

export const mustFail = {
  'google-key-goes-along': {
    what: 'A gateway key is sent to Google.',
    caughtBy: ['GEM-01/key-stays-here'],
    hooks: {
      upstream: {
        request(wanted, context) {
          if (!isGemini(wanted)) return
          wanted.path += `${wanted.path.includes('?') ? '&' : '?'}gateway=${context.env.ADMIN_KEY}`
        },
      },
    },
  },
  'openai-list-for-google': {
    what: 'Google’s clients receive the model list in OpenAI’s format.',
    caughtBy: ['GEM-09/list-is-in-shape'],
    hooks: {
      body: onRead(/^\/v1beta\/models(\?|$)/, ({ models }) => ({
        ...{ object: 'list', data: models?.map(({ name }: Json) => ({ id: name, object: 'model' })) },
      })),
    },
  },
} satisfies Record<string, MustFail>

// Gateways that refuse in an unusual way.
import { CHAT, changeJson, type MustPass } from '../gateway.ts'

export const mustPass = {
  'says-422': {
    what: 'Requests that cannot be processed get 422 instead of 400.',
    hooks: {
      responseStart(head, { path }) {
        if (path === CHAT && head.status === 400 && head.headers['x-gateway-provider'] === undefined)
          head.status = 422
      },
    },
  },
  'unknown-models-are-400': {
    what: 'An unknown model gets 400 instead of 404.',
    hooks: {
      responseStart(head, { path }) {
        if (path === CHAT && head.status === 404) head.status = 400
      },
    },
  },
  'errors-with-more': {
    what: 'Errors have more fields than usual, but no param.',
    hooks: {
      body: (body) =>
        changeJson(body, (json) => {
          if (!json.error?.message) return json
          const { param: _, ...error } = json.error
          return {
            ...json,
            error: { ...error, doc_url: 'https://example.com/errors', level: 3 },
            status: 'error',
          }
        }),
    },
  },
  'cools-down-for-two-seconds': {
    what: 'A failed target is not used for two seconds, as declared.',
    target: (target) => ({ ...target, capabilities: { ...target.capabilities, cooldown_ms: 2_000 } }),
    hooks: { config: (text) => text.replace('cooldown: 50ms', 'cooldown: 2s') },
  },
} satisfies Record<string, MustPass>

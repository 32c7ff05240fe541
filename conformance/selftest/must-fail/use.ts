// Must-fail gateways for the checks of USE.
import { callIn, changeJson, type MustFail, onRead, RECORD } from '../gateway.ts'

export const mustFail = {
  'cache-crosses-keys': {
    what: 'A cached answer is sent to a client with another key.',
    caughtBy: ['USE-08'],
    hooks: () => {
      let key: string | undefined
      return {
        request(wanted) {
          if (!callIn(wanted)) return
          key ??= wanted.headers.authorization
          wanted.headers.authorization = key
        },
      }
    },
  },
  'counts-the-cached-twice': {
    what: 'Cached tokens are counted a second time in addition to the input that includes them.',
    caughtBy: ['USE-05'],
    hooks: {
      body: onRead(RECORD, (json) =>
        json.price
          ? {
              ...json,
              cost_usd: json.cost_usd + (json.tokens.cached_input * json.price.rates.input_mtok.base) / 1e6,
            }
          : json,
      ),
    },
  },
  'full-price-for-the-cached': {
    what: 'Cached tokens are charged at the price of ordinary tokens.',
    caughtBy: ['USE-05'],
    hooks: {
      body: onRead(RECORD, (json) =>
        json.price
          ? {
              ...json,
              cost_usd:
                (json.tokens.input * json.price.rates.input_mtok.base +
                  json.tokens.output * json.price.rates.output_mtok.base) /
                1e6,
            }
          : json,
      ),
    },
  },
  'hits-have-no-end': {
    what: 'A cached stream lacks its end.',
    caughtBy: ['USE-08'],
    hooks: () => {
      let hit = false
      return {
        responseStart({ headers }) {
          hit = headers['x-gateway-cache'] === 'HIT'
        },
        event: (event) => (hit && event.includes('[DONE]') ? [] : [event]),
      }
    },
  },
  'hits-are-made-anew': {
    what: 'A cached answer has a different id from the original.',
    caughtBy: ['USE-08'],
    hooks: () => {
      const hits = new WeakSet<object>()
      return {
        responseStart({ headers }, wanted) {
          if (headers['x-gateway-cache'] === 'HIT') hits.add(wanted)
        },
        body: (body, wanted) =>
          hits.has(wanted) ? changeJson(body, (json) => ({ ...json, id: 'made-anew' })) : body,
      }
    },
  },
} satisfies Readonly<Record<string, MustFail>>

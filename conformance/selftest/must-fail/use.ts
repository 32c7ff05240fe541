// Must-fail gateways for the checks of USE.
import { callIn, changeJson, type MustFail, onCall, onEvent, onRead, RECORD } from '../gateway.ts'

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
  'cache-ignores-no-store': {
    what: 'Cache-Control: no-store is ignored.',
    caughtBy: ['USE-08'],
    hooks: {
      request(wanted) {
        delete wanted.headers['cache-control']
      },
    },
  },
  'cache-ignores-temperature': {
    what: 'Different requests get the same cached answer.',
    caughtBy: ['USE-08'],
    hooks: {
      request: onCall(({ temperature: _, ...rest }) => rest),
    },
  },
  'caches-nothing': {
    what: 'The configured cache never has a hit.',
    caughtBy: ['USE-08'],
    hooks: {
      config: (text) => text.replace('cache: { enabled: true }', 'cache: { enabled: false }'),
    },
  },
  'counts-anew': {
    what: 'The gateway counts tokens itself instead of passing on the usage.',
    caughtBy: ['USE-01'],
    hooks: {
      body: (body, wanted) =>
        callIn(wanted) ? body.replace(/"prompt_tokens":\s*\d+/, '"prompt_tokens":2000') : body,
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
  'doubles-on-record': {
    what: 'The record has twice the reported tokens.',
    caughtBy: ['USE-02', 'LOG-02'],
    hooks: {
      body: onRead(RECORD, (json) => ({
        ...json,
        tokens: { ...json.tokens, input: json.tokens.input * 2 },
      })),
    },
  },
  'estimates-are-facts': {
    what: 'An estimate of tokens is not marked as an estimate.',
    caughtBy: ['USE-07'],
    hooks: {
      body: onRead(RECORD, (json) => ({ ...json, tokens: { ...json.tokens, source: 'reported' } })),
    },
  },
  'forgets-the-reasoning': {
    what: 'Reasoning tokens are not recorded separately.',
    caughtBy: ['USE-05'],
    hooks: {
      body: onRead(RECORD, (json) => ({ ...json, tokens: { ...json.tokens, reasoning: null } })),
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
  'hits-cost': {
    what: 'A cache hit is recorded with the cost of the first call.',
    caughtBy: ['USE-08'],
    hooks: {
      body: onRead(RECORD, (json) => (json.cache === 'HIT' ? { ...json, cost_usd: json.saved_usd } : json)),
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
  'nothing-for-half': {
    what: 'A call that broke off half-way is recorded without tokens.',
    caughtBy: ['USE-07'],
    hooks: {
      body: onRead(RECORD, (json) =>
        json.state === 'completed'
          ? json
          : { ...json, tokens: { ...json.tokens, input: null, output: null } },
      ),
    },
  },
  'null-for-zero': {
    what: 'A reported count of 0 is recorded as unknown.',
    caughtBy: ['USE-04'],
    hooks: {
      body: onRead(RECORD, (json) => ({
        ...json,
        tokens: {
          ...json.tokens,
          input: json.tokens?.input || null,
          output: json.tokens?.output || null,
        },
      })),
    },
  },
  'shows-usage-unasked': {
    what: 'The usage event reaches clients that did not request it.',
    caughtBy: ['USE-03'],
    hooks: {
      request: onCall((call) => (call.stream ? { ...call, stream_options: { include_usage: true } } : call)),
    },
  },
  'swallows-usage': {
    what: 'A stream lacks the usage that the client requested.',
    caughtBy: ['USE-03'],
    hooks: {
      event: onEvent((json) => (json.usage && json.choices?.length === 0 ? null : json)),
    },
  },
  'zero-for-unknown': {
    what: 'Tokens that were not reported are recorded as 0.',
    caughtBy: ['USE-04'],
    hooks: {
      body: onRead(RECORD, (json) => ({
        ...json,
        tokens: { ...json.tokens, input: json.tokens?.input ?? 0, output: json.tokens?.output ?? 0 },
      })),
    },
  },
  'zero-usage-on-streams': {
    what: 'Streamed usage reaches the client as zeros.',
    caughtBy: ['USE-01'],
    hooks: {
      event: (event) => [event.replace(/"(prompt|completion|total)_tokens":\d+/g, '"$1_tokens":0')],
    },
  },
  'drops-cached-tokens': {
    what: 'The client receives the three token totals without their breakdown.',
    caughtBy: ['USE-01'],
    hooks: {
      body: (body) =>
        changeJson(body, (json) => {
          delete json.usage?.prompt_tokens_details
          return json
        }),
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

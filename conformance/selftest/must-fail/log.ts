// Must-fail gateways for the checks of LOG and USE: records, and the usage in them.
import { rmSync } from 'node:fs'
import { clock } from '../../../src/shared/clock.ts'
import { callIn, changeJson, LIST, type MustFail, onRead, RECORD } from '../gateway.ts'

export const gateways = {
  'analytics-name-a-call': {
    what: 'The routing analytics contain a call id.',
    caughtBy: ['LOG-10'],
    hooks: () => {
      let last: unknown = null
      return {
        responseStart({ headers }) {
          last = headers['x-gateway-request-id'] ?? last
        },
        body: onRead('/api/analytics', (json) => ({ ...json, example: last })),
      }
    },
  },
  'begins-with-an-empty-store': {
    what: 'All records are gone after a restart.',
    caughtBy: ['LOG-08', 'LIFE-01'],
    asCommand: true,
    hooks: {
      before: (data) => rmSync(data, { recursive: true, force: true }),
    },
  },
  'final-too-late': {
    what: 'A record becomes final only four seconds after the end of its call.',
    caughtBy: ['LOG-04'],
    hooks: {
      body: onRead(RECORD, (json) =>
        clock.now() - Date.parse(json.completed_at ?? json.created_at) < 4_000
          ? { ...json, state: 'streaming' }
          : json,
      ),
    },
  },
  'forgives-bad-filters': {
    what: 'The log ignores invalid query parameters.',
    caughtBy: ['LOG-09'],
    hooks: {
      async request(wanted, { gateway }) {
        if (!wanted.path.startsWith('/api/usage/request-logs?')) return
        const answer = await gateway(wanted)
        return answer.status === 400 ? gateway({ ...wanted, path: '/api/usage/request-logs' }) : answer
      },
    },
  },
  'logs-twice': {
    what: 'The log contains a streamed call twice.',
    caughtBy: ['LOG-01'],
    hooks: {
      body: onRead(LIST, (json) => ({
        ...json,
        data: json.data.flatMap((item: { id: string; stream: boolean }) =>
          item.stream ? [item, { ...item, id: `${item.id}-2` }] : [item],
        ),
      })),
    },
  },
  'prompts-in-the-log': {
    what: 'The list of calls contains the last prompt.',
    caughtBy: ['LOG-12'],
    hooks: () => {
      let prompt = ''
      return {
        request(wanted) {
          const call = callIn(wanted)
          if (call) prompt = JSON.stringify(call.messages)
        },
        body: onRead(LIST, (json) => ({ ...json, last_prompt: prompt })),
      }
    },
  },
  'repeats-a-row-between-pages': {
    what: 'Each page of the log after the first begins with a row from the previous page.',
    caughtBy: ['LOG-09'],
    hooks: () => {
      let last: unknown[] = []
      return {
        body: (body, { path }) =>
          path.startsWith('/api/usage/request-logs?')
            ? changeJson(body, (json) => {
                const data = path.includes('cursor=') ? [...last, ...(json.data ?? [])] : json.data
                last = json.data?.slice(-1) ?? []
                return { ...json, data }
              })
            : body,
      }
    },
  },
  'spends-unrecorded': {
    what: 'Every call is sent to a provider twice, but recorded once.',
    caughtBy: ['LOG-07'],
    hooks: {
      async request(wanted, { spend }) {
        const call = callIn(wanted)
        if (call) await spend({ messages: call.messages })
      },
    },
  },
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

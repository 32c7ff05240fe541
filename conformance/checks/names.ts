// TELL and CAT, this interface only: closed sets of headers, hostile names, types and public fields.
import { type Check, finding } from '../check.ts'
import { labelled, ref, refs, requestIdOf } from '../lookup.ts'
import { at, jsonOf } from '../reading.ts'

const SESSION = 'conformance-session-1'
const LIVE = ['x-gateway-cache', 'x-gateway-session-id']

export const closedSets = {
  id: 'TELL-04',
  async exercise(session) {
    for (const stream of [false, true]) {
      await session.chat('with session', { stream, headers: { 'x-gateway-session-id': SESSION } })
      await session.chat('without session', { stream })
    }
    await session.chat('no-store', { headers: { 'cache-control': 'no-store' } })
    for (const path of session.target.capabilities.read_paths)
      await session.ask('read', path, {
        key: session.running.keys.reader,
        headers: { 'x-gateway-session-id': SESSION },
      })
  },
  judge: ({ evidence }) =>
    evidence.exchanges.map((exchange) => {
      const [cache, session] = LIVE.map((name) => exchange.headers[name])
      const { label } = exchange
      if (label === 'read')
        return finding(
          cache === undefined && session === undefined,
          `${exchange.request.path}: cache ${cache ?? 'absent'}, session ${session ?? 'absent'}`,
          [ref(exchange)],
        )
      const closed = ['HIT', 'MISS', 'BYPASS'].includes(cache ?? '')
      const right = label === 'with session' ? session === SESSION : session === undefined
      return finding(
        closed && right,
        `${label}: cache ${cache ?? 'absent'}, session ${session ?? 'absent'}`,
        [ref(exchange)],
      )
    }),
} satisfies Check

/** Names that would end a header, a log line or a terminal's patience. */
const HOSTILE = [
  'a\r\nx-evil: 1',
  '\u001b[31mred\u001b]8;;http://evil\u0007',
  'bidi \u202e gnirts',
  '../../etc/passwd',
  '%0d%0ax-evil: 1',
  '日本\u0000語',
]

const ESC = '\u001b'
const COLOUR = new RegExp(`${ESC}\\[[\\d;]*m`, 'g')

export const hostileNames = {
  id: 'TELL-06',
  hostile: true,
  async exercise(session) {
    for (const name of HOSTILE) {
      const exchange = await session.chat('model', {
        model: `openai/${name}`,
        body: { prompt_cache_key: name },
      })
      await session.record(`record of #${exchange.n}`, exchange)
      await session.ask('line', `/api/statusline?model=${encodeURIComponent(`openai/${name}`)}`)
    }
  },
  judge: ({ evidence, target }) => [
    ...labelled(evidence, 'model').flatMap((exchange) => {
      const asked = (jsonOf(exchange.request.body!) as { model: string }).model
      const [reading] = labelled(evidence, `record of #${exchange.n}`)
      const printable = Object.values(exchange.headers).every((value) => /^[\x20-\x7e]*$/.test(value))
      const onRecord =
        requestIdOf(target, exchange) === null ||
        at(jsonOf(reading?.body ?? ''), '/requested_model') === asked
      const ok = exchange.headers['x-evil'] === undefined && printable && exchange.status !== null && onRecord
      return [
        finding(
          ok,
          `model ${JSON.stringify(asked)}: ${exchange.status}, header ${exchange.headers['x-gateway-model'] ?? 'absent'}, ${onRecord ? 'byte for byte on record' : 'changed on record'}`,
          refs(exchange, reading),
        ),
      ]
    }),
    ...labelled(evidence, 'line').map((exchange) => {
      // The line's own colours are its own; what a name may not bring is anything else.
      const { body } = exchange
      const rest = body.replaceAll(COLOUR, '').replaceAll('\n', '')
      const hostile = /\p{Cc}|[\u202a-\u202e\u2066-\u2069]/u.test(rest) || body.includes(`${ESC}[31mred`)
      return finding(
        !hostile,
        `the status line for ${exchange.request.path.slice(-40)} holds ${hostile ? 'a' : 'no'} control character of a name`,
        [ref(exchange)],
      )
    }),
  ],
} satisfies Check

export const catalogHasTypes = {
  id: 'CAT-02',
  needs: ['catalog'],
  async exercise(session) {
    await session.ask('catalog', session.target.capabilities.catalog!)
  },
  judge: ({ evidence }) =>
    labelled(evidence, 'catalog').flatMap((exchange) => {
      const data = (at(jsonOf(exchange.body), '/data') ?? []) as { id: string; type: string }[]
      const types = ['chat', 'embedding', 'image', 'route']
      return types.map((type) => {
        const ids = data.filter((each) => each.type === type).map(({ id }) => id)
        return finding(ids.length > 0, `${type}: ${ids.join(', ') || 'none'}`, [ref(exchange)])
      })
    }),
} satisfies Check

const PUBLIC = ['name', 'strategy', 'model_ids', 'providerId', 'description']

export const publicMetadata = {
  id: 'KEEP-05',
  async exercise(session) {
    await session.ask('public', '/v1beta/models')
  },
  judge: ({ evidence }) =>
    labelled(evidence, 'public').map((exchange) => {
      const json = jsonOf(exchange.body) as { models?: object[] } | undefined
      const models = json?.models ?? []
      const keys = new Set(models.flatMap((each) => Object.keys(each)))
      const ok =
        models.length > 0 &&
        Object.keys(json!).join() === 'models' &&
        [...keys].sort().join() === [...PUBLIC].sort().join()
      return finding(ok, `${models.length} entries with the fields ${[...keys].join(', ')}`, [ref(exchange)])
    }),
} satisfies Check

export const foreignOrigins = {
  id: 'KEEP-06',
  async exercise(session) {
    const body = JSON.stringify({ model: session.model, messages: [{ role: 'user', content: 'x' }] })
    const post = { method: 'POST', body }
    for (const headers of [
      { host: 'evil.example' },
      { origin: 'https://evil.example' },
      { origin: 'null' },
    ]) {
      await session.ask('foreign', '/v1/models', { headers })
      await session.ask('foreign', '/v1/chat/completions', {
        ...post,
        headers: { ...headers, 'content-type': 'application/json' },
      })
    }
    if (session.target.variants.public) {
      const refused = await session.another('public').then(
        () => null,
        (cause: Error) => cause.message,
      )
      session.note('public', refused)
    }
  },
  judge: ({ evidence }) => {
    const refused = evidence.facts.public
    return [
      ...labelled(evidence, 'foreign').map((exchange) => {
        const { host, origin } = exchange.request.headers
        return finding(
          exchange.status === 403,
          `${exchange.request.method} with ${host ? `Host ${host}` : `Origin ${origin}`}: ${exchange.status}`,
          [ref(exchange)],
        )
      }),
      finding(
        evidence.ledger.filter(({ kind }) => kind === 'inference').length === 0,
        'none of them reached a provider',
      ),
      ...(refused === undefined
        ? []
        : [
            finding(
              typeof refused === 'string' && /key/.test(refused),
              `a public address without keys: ${refused ?? 'it runs'}`,
            ),
          ]),
    ]
  },
} satisfies Check

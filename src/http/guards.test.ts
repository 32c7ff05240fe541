// A gateway key in a URL or in a forwarded header is refused, in any place and in any encoding. The key is never
// passed on.
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { answer } from '../../mocks/test-upstream.ts'
import { DIALECTS } from '../dialects/registry.ts'
import { callsFor } from '../dialects/test-samples.ts'
import { testGateway } from '../test/test-gateway.ts'
import { processorMs } from '../test/test-processor-time.ts'
import { sample } from '../test/test-size.ts'
import { createKeyGuard } from './guards.ts'

const MINE = 'wb_mine-0123456789_abcdefghij'
const OTHERS = 'ABSK+the/other+key=='
const keyOf = (name: string, key: string, role: string) =>
  `{ name: ${name}, role: ${role}, digest: "sha256:${createHash('sha256').update(key).digest('hex')}" }`
const headers = { authorization: `Bearer ${MINE}` }

const all = (key: string): string =>
  Array.from(Buffer.from(key), (byte) => `%${byte.toString(16).padStart(2, '0')}`).join('')
/** Ways to write a key into a value. */
const WRITTEN: Readonly<Record<string, (key: string) => string>> = {
  'as it is': encodeURIComponent,
  'completely encoded': all,
  'encoded twice': (key) => encodeURIComponent(all(key)),
  'encoded three times': (key) => encodeURIComponent(encodeURIComponent(all(key))),
  'behind a scheme': (key) => `Bearer%20${encodeURIComponent(key)}`,
  'in an address': (key) => encodeURIComponent(`https://x:${encodeURIComponent(key)}@host/path`),
  'in JSON': (key) => encodeURIComponent(JSON.stringify({ a: [key] })),
  'in base64': (key) => encodeURIComponent(Buffer.from(key).toString('base64')),
  'as a user in base64': (key) =>
    encodeURIComponent(`Basic ${Buffer.from(`user:${key}`).toString('base64')}`),
}
const NAMES =
  'auth api_token subscription-key code sig authorization bearer k password secret x-api-key x-goog-api-key x api-key'.split(
    ' ',
  )

/** Requests of every dialect at every path, without a query. */
const CALLS = callsFor((dialect) => `${dialect}/m`).filter(({ query }) => query === '')

const TRACE = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01'

async function start(t: TestContext, more = '') {
  const dialects = Object.fromEntries(Object.keys(DIALECTS).map((name) => [name, [name]]))
  const log: string[] = []
  const note = (fields: object, said: string) => void log.push(JSON.stringify([fields, said]))
  const gateway = await testGateway(t, {
    providers: Object.fromEntries(Object.keys(dialects).map((name) => [name, answer()])),
    dialects,
    config: `keys: [ ${keyOf('mine', MINE, 'admin')}, ${keyOf('other', OTHERS, 'client')} ]\nartifacts: { bodies: true }\n${more}`,
    options: { log: { debug: note, info: note, warn: note, error: note } },
  })
  const call = (path: string, body: string, more: Readonly<Record<string, string>> = {}) =>
    gateway.get(path, {
      method: 'POST',
      headers: { ...headers, 'content-type': 'application/json', ...more },
      body,
    })
  return { ...gateway, call, log }
}

test('a call with a key in its URL, under any parameter name, is refused and not passed on (KEEP-01, KEEP-02)', async (t) => {
  const { call, get, data, received, log } = await start(t)
  const refused = async (path: string, body: string) => {
    const { status, text } = await call(path, body)
    assert.deepEqual([status, /A key in the URL is refused/.test(text)], [400, true], `${path}: ${text}`)
  }
  const asked = CALLS.flatMap(({ path, body }) =>
    [MINE, OTHERS].flatMap((key) =>
      [
        ...NAMES.map((name) => `${name}=${encodeURIComponent(key)}`),
        ...Object.values(WRITTEN).map((write) => `a=1&x=${write(key)}&b=2`),
        encodeURIComponent(key),
        `${encodeURIComponent(key)}=1`,
        `a=1;b=${encodeURIComponent(key)}`,
      ].map((query) => [`${path}?${query}`, body] as const),
    ),
  )
  for (const [path, body] of sample(asked, 5)) await refused(path, body)
  for (const key of [MINE, OTHERS])
    for (const model of [`gemini/${key}`, key, `gemini/x/${key}/y`, `x@${key}`])
      for (const verb of ['generateContent', 'streamGenerateContent', 'countTokens'])
        await refused(`/v1beta/models/${encodeURIComponent(model)}:${verb}`, '{"contents":[]}')
  // Google's clients send the key in this place, so it is accepted. A second key is refused.
  await refused(`/v1beta/models/gemini%2Fm:generateContent?key=${MINE}&x=${MINE}`, '{"contents":[]}')
  assert.equal(received(), 0)

  const lists = ['/api/usage/refused-calls?limit=200', '/api/usage/request-logs', '/metrics']
  const seen = await Promise.all(lists.map((path) => get(path, { headers })))
  assert.deepEqual(
    seen.map(({ status }) => status),
    [200, 200, 200],
  )
  assert.deepEqual(seen[1]!.json.data, [])
  const files = readdirSync(data, { recursive: true, withFileTypes: true })
    .filter((file) => file.isFile())
    .map(({ parentPath, name }) => readFileSync(join(parentPath, name), 'latin1'))
  for (const text of [...log, ...seen.map(({ text }) => text), ...files])
    for (const key of [MINE, OTHERS])
      for (const form of [key, encodeURIComponent(key), all(key)])
        assert.ok(!text.includes(form), text.slice(0, 500))
})

test('a call with a key in a forwarded header, under any name, is refused, and keys in other headers are not passed on (KEEP-02)', async (t) => {
  const { call, received, upstream } = await start(t, 'telemetry: { endpoint: "http://127.0.0.1:9" }')
  const asked = CALLS.flatMap(({ path, body, counts, forwarded }) =>
    [...forwarded, ...(counts ? [] : ['tracestate'])].flatMap((name) =>
      [MINE, OTHERS].flatMap((key) =>
        Object.values(WRITTEN).map((write) => ({ path, body, name, written: write(key) })),
      ),
    ),
  )
  for (const { path, body, name, written } of sample(asked, 5)) {
    const more =
      name === 'tracestate' ? { traceparent: TRACE, tracestate: `a=${written}` } : { [name]: written }
    const { status, text } = await call(path, body, more)
    const isSaid = name === 'tracestate' || /A key in a header/.test(text)
    assert.deepEqual([status, isSaid], [400, true], `${path} ${name}: ${written}: ${text}`)
  }
  assert.equal(received(), 0)
  for (const { path, body } of CALLS)
    await call(path, body, { 'x-of-the-client': MINE, 'api-key': OTHERS, 'x-key': MINE })
  assert.ok(received() >= Object.keys(DIALECTS).length)
  for (const { ledger } of Object.values(upstream))
    for (const { headers } of ledger)
      for (const key of [MINE, OTHERS]) assert.ok(!JSON.stringify(headers).includes(key))
})

test('a read with a key in its URL is also refused, even at a path that does not exist (KEEP-01)', async (t) => {
  const { get } = await start(t)
  const paths = [
    '/api/usage/request-logs',
    '/api/statusline',
    '/v1/models',
    '/metrics',
    '/',
    '/nothing',
    '/api/keys',
  ]
  for (const path of paths)
    for (const query of [
      `?session_id=${MINE}`,
      `?x=${all(OTHERS)}`,
      `/${MINE}`,
      `?limit=1&cursor=Bearer+${MINE}`,
    ]) {
      const { status, text } = await get(path + query, { headers })
      assert.deepEqual([status, text.includes('A key in the URL')], [400, true], `${path}${query}: ${text}`)
    }
  const { json } = await get('/page/sign-in', { method: 'POST', headers })
  const page = await get(`/api/sessions?x=${json.token}`, { headers })
  assert.match(page.text, /A key in the URL is refused/)
})

test('a value that is not a key is passed on unchanged (DIAL-02, GEM-02)', async (t) => {
  const { call, upstream } = await start(t)
  const query = 'beta=true&x=%20y&%24fields=a(b)&keyed=1&monkey=2&long=0123456789abcdef0123456789abcdef'
  for (const [path, provider, sent] of [
    ['/v1/messages', 'messages', `/v1/messages?${query}`],
    ['/v1/responses', 'responses', `/v1/responses?${query}`],
    ['/v1beta/models/gemini%2Fkey:generateContent', 'gemini', `/v1/models/key:generateContent?${query}`],
  ] as const) {
    const { body } = CALLS.find(({ dialect }) => dialect === provider)!
    await call(`${path}?${query}`, body)
    assert.equal(upstream[provider]!.ledger.at(-1)?.path, sent)
  }
})

test('the search for a key in a URL or a header is bounded for any content (FAIL-06)', () => {
  const guard = createKeyGuard([{ name: 'k', role: 'client', digest: `sha256:${'0'.repeat(64)}` }], {
    find: () => null,
  })
  const long = 16_000
  for (const piece of [
    '&',
    'a=1&',
    'abcdefgh.',
    '%2525253d',
    'a=%25%25%41%42%43%44%45%46&',
    'abcdefgh',
    'YWJjZGVmZ2g=/',
  ]) {
    const text = piece.repeat(long / piece.length)
    for (const search of [
      () => guard.url(`?x=${text}`, headers),
      () => guard.forwarded(['x', text], headers),
    ]) {
      const start = processorMs()
      try {
        search()
      } catch (error) {
        assert.match(String(error), /too many parts/)
      }
      const ms = processorMs() - start
      assert.ok(ms < 250, `${piece}: ${ms} ms`)
    }
  }
  guard.url(`?${Array.from({ length: 90 }, (_, n) => `parameter_${n}=value_${n}`).join('&')}`, headers)
})

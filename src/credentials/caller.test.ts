// `auth: caller` over real sockets: the recipients of the caller's own credential, and the places where it
// must never appear.

import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { fail, type Script, startMockServer } from '../../mocks/test-upstream.ts'
import { parseConfig } from '../config/load.ts'
import { providerKey, testGateway } from '../test/test-gateway.ts'
import { until } from '../test/test-until.ts'

const KEY = 'wb_gateway-key-0123456789'
const TOKEN = 'sk-ant-oat01-callers+own/0123456789abcdef'
const KEYS = `keys: [ { name: ann, role: admin, digest: "sha256:${createHash('sha256').update(KEY).digest('hex')}" } ]`

const message: Script = (response, { json }) =>
  response
    .writeHead(200, {
      'content-type': 'application/json',
      'anthropic-ratelimit-unified-status': 'allowed_warning',
      'anthropic-ratelimit-unified-5h-utilization': '0.83',
    })
    .end(
      JSON.stringify({
        id: 'msg_1',
        type: 'message',
        role: 'assistant',
        model: json.model,
        content: [{ type: 'text', text: 'north' }],
        stop_reason: 'end_turn',
        usage: { input_tokens: 3, output_tokens: 2 },
      }),
    )

/** Answers only requests with a subscription's token, as Anthropic does. */
const subscription: Script = (response, received) =>
  received.headers.authorization === `Bearer ${TOKEN}` && received.headers['x-api-key'] === undefined
    ? message(response, received)
    : response.writeHead(401, { 'content-type': 'application/json' }).end(
        JSON.stringify({
          type: 'error',
          error: { type: 'authentication_error', message: `invalid: ${received.headers.authorization}` },
        }),
      )

async function start(t: TestContext, { keys = KEYS, script = subscription, more = '' } = {}) {
  const login = await startMockServer(script)
  t.after(() => login.close())
  const gateway = await testGateway(t, {
    providers: { paid: message },
    dialects: { paid: ['messages'] },
    config: `  login: { dialect: messages, base_url: "${login.baseUrl}", auth: caller }
routes:
  auto: { targets: [ { model: login/m }, { model: paid/m } ] }
  only: { targets: [ { model: login/m } ] }
artifacts: { bodies: true }
cache: { enabled: true }
${keys}
${more}`,
  })
  const send = (headers: Record<string, string>, model = 'auto', path = '/v1/messages') =>
    gateway.get(path, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'anthropic-version': '2023-06-01', ...headers },
      body: JSON.stringify({ model, max_tokens: 9, messages: [{ role: 'user', content: 'where to?' }] }),
    })
  return { ...gateway, login, send }
}

const OWN = { 'x-gateway-key': KEY, authorization: `Bearer ${TOKEN}` }
const asAdmin = { headers: { 'x-gateway-key': KEY } }
const MANY = `${TOKEN}, Bearer ${KEY}`

test('the caller’s credential reaches its provider unchanged, but the gateway’s key does not (KEEP-07)', async (t) => {
  const { send, login, upstream } = await start(t)
  for (const path of ['/v1/messages', '/v1/messages?beta=true']) {
    const { status, headers } = await send(OWN, 'auto', path)
    assert.equal(status, 200)
    assert.equal(headers.get('x-gateway-provider'), 'login')
    assert.equal(headers.get('x-gateway-cache'), 'BYPASS')
    assert.equal(headers.get('anthropic-ratelimit-unified-status'), 'allowed_warning')
  }
  const [{ headers }] = login.ledger as [(typeof login.ledger)[0]]
  assert.equal(headers.authorization, `Bearer ${TOKEN}`)
  assert.equal(headers['x-api-key'], undefined)
  assert.equal(headers['x-gateway-key'], undefined)
  assert.ok(!JSON.stringify(login.ledger).includes(KEY))
  assert.equal(upstream.paid!.ledger.length, 0)
})

test('the limits that a subscription reports appear in the record and in the status line', async (t) => {
  const { send, get } = await start(t)
  await send({ ...OWN, 'x-gateway-session-id': 's1' })
  const newest = async () => (await get('/api/usage/request-logs?limit=1', asAdmin)).json.data[0]
  await until('the call has ended', async () => (await newest()).completed_at)
  assert.equal((await newest()).plan_limits, '5h 83 %')
  const line = await get('/api/statusline?session_id=s1&segments=route,limits&theme=none', asAdmin)
  assert.match(line.text, /login\/m.*plan 5h 83 %/)
})

test('the caller’s own x-api-key is also passed on in requests to count tokens', async (t) => {
  const { send, login } = await start(t, {
    script: (response, { path }) =>
      path.endsWith('/count_tokens')
        ? response.writeHead(200, { 'content-type': 'application/json' }).end('{"input_tokens":7}')
        : fail(404)(response, undefined as never),
  })
  const own = { 'x-gateway-key': KEY, 'x-api-key': TOKEN }
  const counted = await send(own, 'only', '/v1/messages/count_tokens')
  assert.equal(counted.text, '{"input_tokens":7}')
  assert.equal(login.ledger[0]!.headers['x-api-key'], TOKEN)
  const estimated = await send({ 'x-gateway-key': KEY }, 'only', '/v1/messages/count_tokens')
  assert.equal(estimated.headers.get('x-gateway-token-count'), 'estimated')
  assert.equal(login.ledger.length, 1)
})

for (const [reason, status] of [
  ['busy', 529],
  ['at its limit', 429],
] as const)
  test(`a fallback from a provider that is ${reason} is sent without the caller’s credential`, async (t) => {
    const { send, login, upstream, get } = await start(t, { script: fail(status) })
    const { headers, status: got } = await send(OWN)
    assert.equal(got, 200)
    assert.equal(headers.get('x-gateway-provider'), 'paid')
    assert.equal(login.ledger.length, 1)
    const [{ headers: paid }] = upstream.paid!.ledger as [(typeof login.ledger)[0]]
    assert.equal(paid['x-api-key'], providerKey('paid'))
    assert.ok(!JSON.stringify(paid).includes(TOKEN))
    const { json } = await get(`/api/usage/request-logs/${headers.get('x-gateway-request-id')}`, asAdmin)
    assert.equal(json.fallbacks, 1)
    // A limit applies to one account, but an outage of a provider affects everybody.
    await send(OWN)
    assert.equal(login.ledger.length, status === 429 ? 2 : 1)
  })

test('a 401 for the caller’s credential is relayed to the caller, without a fallback or a cooldown', async (t) => {
  const { send, login, upstream, get } = await start(t)
  const wrong = { ...OWN, authorization: `Bearer ${TOKEN}-expired` }
  for (let n = 1; n <= 2; n++) {
    const { status, json, headers } = await send(wrong)
    assert.equal(status, 401)
    assert.equal(json.error.type, 'authentication_error')
    assert.equal(login.ledger.length, n)
    const id = headers.get('x-gateway-request-id')
    assert.equal(
      (await get(`/api/usage/request-logs/${id}`, asAdmin)).json.error_code,
      'authentication_error',
    )
  }
  assert.equal(upstream.paid!.ledger.length, 0)
})

test('without X-Gateway-Key, the caller’s credential is not passed on, and the provider is skipped', async (t) => {
  const { send, login, get, received } = await start(t)
  for (const headers of [{ authorization: `Bearer ${KEY}` }, { 'x-gateway-key': KEY }] as Record<
    string,
    string
  >[]) {
    const passed = await send(headers)
    assert.equal(passed.headers.get('x-gateway-provider'), 'paid')
    const id = passed.headers.get('x-gateway-request-id')
    assert.deepEqual((await get(`/api/usage/request-logs/${id}`, asAdmin)).json.decision.skipped, [
      { target: 'login/m', reason: "needs the caller's own credential" },
    ])
  }
  const before = received()
  const refused = await send({ authorization: `Bearer ${KEY}` }, 'only')
  assert.equal(refused.status, 401)
  assert.match(refused.json.error.message, /login takes the caller's own credential.*X-Gateway-Key/)
  assert.equal((await send({ authorization: `Bearer ${TOKEN}` })).status, 401)
  assert.equal(received(), before)
  assert.equal(login.ledger.length, 0)
})

test('a gateway key is never passed on as a caller’s credential, and two credentials in one header are refused', async (t) => {
  const { send, login } = await start(t)
  const basic = Buffer.from(`ann:${KEY}`).toString('base64')
  for (const authorization of [`Bearer ${KEY}`, `Basic ${basic}`])
    assert.equal((await send({ ...OWN, authorization }, 'only')).status, 401)
  const cases: [Record<string, string>, number][] = [
    [{ ...OWN, authorization: `Bearer ${MANY}` }, 400],
    [{ ...OWN, 'x-api-key': `${TOKEN}, ${KEY}` }, 400],
    [{ ...OWN, 'x-gateway-key': `${KEY}, ${TOKEN}` }, 401],
    [{ ...OWN, 'x-gateway-key': `Bearer ${KEY}` }, 401],
    [{ ...OWN, 'x-gateway-key': 'wb_wrong-key-0123456789' }, 401],
    [{ ...OWN, 'anthropic-note': TOKEN }, 400],
    [{ ...OWN, 'anthropic-note': KEY }, 400],
  ]
  for (const [headers, status] of cases) {
    const refused = await send(headers)
    assert.equal(refused.status, status, JSON.stringify(headers))
    assert.ok(!refused.text.includes(TOKEN) && !refused.text.includes(KEY))
  }
  assert.equal(login.ledger.length, 0)
})

test('a gateway without keys passes on any credential that the caller sends', async (t) => {
  const { send, login } = await start(t, { keys: '' })
  assert.equal((await send({ authorization: `Bearer ${TOKEN}` })).status, 200)
  assert.equal((await send({ authorization: `Bearer ${TOKEN}`, 'x-gateway-key': 'any' })).status, 200)
  assert.equal(login.ledger.length, 2)
  assert.ok(login.ledger.every(({ headers }) => headers['x-gateway-key'] === undefined))
})

test('the caller’s credential appears in no record, artifact, response to a read, or file, even if the provider repeats it (KEEP-07)', async (t) => {
  const echo: Script = (response, received) =>
    received.json.max_tokens === 9
      ? subscription(response, { ...received, headers: { authorization: `Bearer ${TOKEN}!` } })
      : message(response, received)
  const { send, get, data, gateway } = await start(t, { script: echo })
  const failed = await send({ ...OWN, 'user-agent': `client/${TOKEN}` })
  assert.equal(failed.status, 401)
  assert.ok(!failed.text.includes(TOKEN))
  await send(OWN)
  const pages = [
    '/api/usage/request-logs',
    '/api/usage/refused-calls',
    '/api/sessions',
    '/api/health',
    '/metrics',
  ]
  const id = failed.headers.get('x-gateway-request-id')
  const artifact = `/api/usage/request-logs/${id}/artifact`
  await until('the artifact is written', async () => (await get(artifact, asAdmin)).status === 200)
  for (const path of [...pages, `/api/usage/request-logs/${id}`, artifact]) {
    const { status, text } = await get(path, asAdmin)
    assert.equal(status, 200, path)
    assert.ok(!text.includes('callers+own'), path)
  }
  await gateway.close(1_000)
  for (const file of readdirSync(data, { recursive: true, withFileTypes: true }).filter((each) =>
    each.isFile(),
  ))
    assert.ok(!readFileSync(join(file.parentPath, file.name)).includes('callers+own'), file.name)
})

test('a configuration with a key together with `auth: caller`, or a route with two such providers, is refused', () => {
  const problems = (text: string) => {
    try {
      parseConfig(text, 'w.yaml', { env: { K: 'sk-1' } })
    } catch (error) {
      return (error as { problems: string[] }).problems
    }
    return []
  }
  const base = 'base_url: "https://a.example/v1"'
  assert.match(
    problems(`providers: { a: { dialect: messages, ${base}, auth: caller, key: $K } }`)[0]!,
    /providers\.a\.key: cannot stand beside `auth: caller`/,
  )
  assert.match(
    problems(`providers:
  a: { dialect: messages, ${base}, auth: caller }
  b: { dialect: messages, ${base}, auth: caller }
routes: { r: { targets: [ { model: a/m }, { model: a/n }, { model: b/m } ] } }`)[0]!,
    /routes\.r\.targets\.2\.model: "b" and "a" both have `auth: caller`/,
  )
})

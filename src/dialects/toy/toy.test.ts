// The gateway treats an unregistered dialect like every other, over real sockets: routing, records, cache,
// limits, metrics, artifacts, disconnecting clients and faults. Over 250 lines, because it tries each part of
// the gateway with the toy dialect.

import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { test } from 'node:test'
import { answer, type Script } from '../../../mocks/test-upstream.ts'
import { providerKey, type Setup, testGateway } from '../../test/test-gateway.ts'
import { pause, until } from '../../test/test-until.ts'
import { DIALECTS } from '../registry.ts'
import { samples } from './test-samples.ts'
import { toy } from './test-toy.ts'

const TOKENS = { ...samples.read.tokens }
const ROUTE = 'routes: { auto: { targets: [ { model: alpha/m } ] } }'

const speaks = (setup: Setup = {}): Setup => ({
  config: ROUTE,
  dialects: { alpha: ['toy'] },
  ...setup,
  options: { dialects: { ...DIALECTS, toy }, ...setup.options },
})

const whole: Script = (response, { json }) =>
  response
    .writeHead(200, { 'content-type': 'application/json', 'toy-rate': '7', 'x-other': 'no' })
    .end(samples.answer(`${json.voice}-1`, { heard: 20, spoken: 7 }))

const streamed =
  (text: string, end = true): Script =>
  (response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' }).write(text)
    if (end) response.end()
  }

async function speak(
  url: string,
  body: unknown,
  {
    query = '',
    headers = {},
    signal,
  }: { query?: string; headers?: Record<string, string>; signal?: AbortSignal } = {},
) {
  const response = await fetch(`${url}/toy/speak${query}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: typeof body === 'string' ? body : JSON.stringify(body),
    ...(signal && { signal }),
  })
  const text = await response.text()
  const json = text.startsWith('{') ? JSON.parse(text) : undefined
  return {
    status: response.status,
    headers: response.headers,
    text,
    json,
    id: response.headers.get('x-gateway-request-id'),
  }
}

test('a whole answer is routed, relayed byte for byte, and recorded with tokens, session and artifact', async (t) => {
  const gateway = await testGateway(t, speaks({ providers: { alpha: whole } }))
  const sent = { voice: 'auto', say: 'hi', who: 's-1' }
  const answer = await speak(gateway.url, sent, { query: '?beta=true', headers: { 'toy-version': '3' } })
  assert.equal(answer.text, samples.answer('m-1', { heard: 20, spoken: 7 }))
  assert.deepEqual(
    ['toy-rate', 'x-other', 'x-gateway-provider', 'x-gateway-session-id'].map((name) =>
      answer.headers.get(name),
    ),
    ['7', null, 'alpha', 's-1'],
  )
  const [received] = gateway.upstream.alpha!.ledger
  assert.deepEqual([received!.path, received!.json], ['/v1/speak?beta=true', { ...sent, voice: 'm' }])
  assert.equal(received!.headers['toy-version'], '3')
  assert.equal(received!.headers['x-toy-key'], providerKey('alpha'))
  assert.equal(received!.headers.authorization, undefined)
  const record = await gateway.record(answer.id)
  assert.deepEqual(
    [record.endpoint, record.state, record.response_model, record.session_id, record.tokens],
    ['/toy/speak', 'completed', 'm-1', 's-1', TOKENS],
  )
  const { json } = await gateway.get(`/api/usage/request-logs/${answer.id}/artifact`)
  assert.deepEqual([json.request.path, json.exchanges[0].request.path], ['/toy/speak', '/v1/speak?beta=true'])
})

test('a stream keeps the provider’s bytes, except for a replaced model name, and its split usage is merged', async (t) => {
  const gateway = await testGateway(
    t,
    speaks({
      providers: { alpha: streamed(samples.stream('theirs')) },
      config:
        'routes:\n  auto: { targets: [ { model: alpha/m } ] }\n  mine: { answer_model: requested, targets: [ { model: alpha/m } ] }',
    }),
  )
  for (const [voice, named] of [
    ['auto', 'theirs'],
    ['mine', 'mine'],
  ] as const) {
    const { text, id } = await speak(gateway.url, { voice, say: 'hi', live: true })
    assert.equal(text, samples.stream(named))
    const record = await gateway.record(id)
    assert.deepEqual([record.state, record.stream, record.tokens], ['completed', true, TOKENS])
  }
})

test('all errors have the dialect’s format: gateway errors, provider errors, errors in a stream, and errors after a cut-off stream', async (t) => {
  const gateway = await testGateway(t, speaks())
  const ask = (more = {}) => speak(gateway.url, { voice: 'auto', say: 'hi', ...more })
  const unknown = await speak(gateway.url, { voice: 'nowhere', say: '' })
  assert.deepEqual([unknown.status, unknown.json.toy_error.kind], [404, 'model_not_found'])
  assert.equal(unknown.headers.get('toy-request-id'), unknown.json.toy_error.id)
  const method = await (await fetch(`${gateway.url}/toy/speak`)).json()
  assert.equal((method as { toy_error: { kind: string } }).toy_error.kind, 'method_not_allowed')

  const own = '{"toy_error":{"kind":"rude","text":"no"}}'
  gateway.upstream.alpha!.script = (response) =>
    response.writeHead(400, { 'content-type': 'application/json' }).end(own)
  const refused = await ask()
  assert.deepEqual([refused.status, refused.text], [400, own])
  gateway.upstream.alpha!.script = (response) => response.writeHead(400).end('{"error":{"message":"chat?"}}')
  assert.match((await ask()).json.toy_error.text, /alpha answered with status 400/)

  const begin = 'event: begin\ndata: {"voice":"m","heard":20}\n\n'
  gateway.upstream.alpha!.script = streamed(`${begin}event: error\ndata: ${own}\n\n`)
  const failed = await ask({ live: true })
  assert.equal(failed.text, `${begin}event: error\ndata: ${own}\n\n`)
  const record = await gateway.record(failed.id)
  assert.deepEqual([record.state, record.error_code, record.tokens.input], ['failed', 'rude', 20])

  gateway.upstream.alpha!.script = (response) => {
    streamed(begin, false)(response, undefined as never)
    void pause(50).then(() => response.destroy())
  }
  let text = ''
  const cut = await fetch(`${gateway.url}/toy/speak`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ voice: 'auto', say: 'hi', live: true }),
  })
  await assert.rejects(async () => {
    for await (const chunk of cut.body!) text += Buffer.from(chunk).toString()
  })
  assert.match(text, /event: error\ndata: \{"toy_error":\{"kind":"upstream_unreachable"/)
})

test('a target that does not speak the dialect is skipped with a recorded reason, and chat still works', async (t) => {
  const gateway = await testGateway(
    t,
    speaks({
      providers: { alpha: answer(), beta: whole },
      dialects: { beta: ['toy', 'chat'] },
      config: 'routes: { auto: { targets: [ { model: alpha/m }, { model: beta/m } ] } }',
    }),
  )
  const { id, status, headers } = await speak(gateway.url, { voice: 'auto', say: 'hi' })
  assert.deepEqual([status, headers.get('x-gateway-provider')], [200, 'beta'])
  const record = await gateway.record(id)
  assert.deepEqual(record.decision.skipped, [{ target: 'alpha/m', reason: 'does not speak toy' }])
  assert.equal(record.fallbacks, 0)
  const chat = await gateway.chat({ model: 'auto', messages: [] })
  assert.equal(chat.headers.get('x-gateway-provider'), 'alpha')
  const direct = await speak(gateway.url, { voice: 'alpha/m', say: 'hi' })
  assert.deepEqual([direct.status, direct.json.toy_error.kind], [400, 'dialect_not_spoken'])
  assert.match(direct.json.toy_error.text, /No target of "alpha\/m" speaks toy \(alpha\/m speaks chat/)
  assert.equal(gateway.upstream.alpha!.ledger.length, 1)
  const { json } = await gateway.get('/api/cloud/model/resolve?model=auto')
  assert.deepEqual([json.deterministic, json.depends_on], [false, ['dialect']])
})

test('fallback, cache, key limits and metrics work as in any other dialect', async (t) => {
  const digest = createHash('sha256').update('a-key-of-tests').digest('hex')
  const gateway = await testGateway(
    t,
    speaks({
      providers: { alpha: (response) => response.writeHead(529).end('busy'), beta: whole },
      dialects: { alpha: ['toy'], beta: ['toy'] },
      config: `cache: { enabled: true }
routes: { auto: { targets: [ { model: alpha/m }, { model: beta/m } ] }, one: { targets: [ { model: beta/m } ] } }
keys: [ { name: k, role: admin, digest: "sha256:${digest}", rate: { requests: 3, per: 1h } } ]`,
    }),
  )
  const headers = { 'x-api-key': 'a-key-of-tests' }
  const first = await speak(gateway.url, { voice: 'auto', say: 'hi' }, { headers })
  assert.deepEqual(
    ['x-gateway-provider', 'x-gateway-attempts', 'x-gateway-cache'].map((name) => first.headers.get(name)),
    ['beta', '2', 'MISS'],
  )
  const hits = [1, 2].map(() => speak(gateway.url, { say: 'hi', voice: 'one' }, { headers }))
  await hits[0]
  const again = await Promise.all(hits)
  assert.ok(again.every(({ text }) => text === first.text.replace('auto', 'one')))
  const refused = await speak(gateway.url, { voice: 'one', say: 'hi' }, { headers })
  assert.deepEqual([refused.status, refused.json.toy_error.kind], [429, 'rate_limited'])
  const text = await until('no call is open', async () => {
    const { text } = await gateway.get('/metrics', { headers })
    return /^waybill_open_calls 0$/m.test(text) && text
  })
  assert.match(text, /^waybill_refused_calls_total\{code="rate_limited"\} 1$/m)
  assert.match(text, /^waybill_fallbacks_total\{route="auto"\} 1$/m)
})

test('when a client disconnects, the provider’s stream is closed, and the usage is recorded as an estimate', async (t) => {
  const gateway = await testGateway(
    t,
    speaks({
      providers: { alpha: streamed('event: word\ndata: {"w":"many words that were written"}\n\n', false) },
    }),
  )
  const leave = new AbortController()
  const response = await fetch(`${gateway.url}/toy/speak`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ voice: 'auto', say: 'hi', live: true }),
    signal: leave.signal,
  })
  await response.body!.getReader().read()
  leave.abort()
  const record = await gateway.record(response.headers.get('x-gateway-request-id'))
  assert.deepEqual([record.state, record.status, record.tokens.source], ['aborted', 499, 'estimated'])
  assert.equal(record.tokens.input, 2)
  await until('the provider is left', () => gateway.upstream.alpha!.abandoned === 1)
})

test('a dialect that throws before the call is recorded leaks nothing, and a dialect that throws later leaves no record open', async (t) => {
  const faults = { cacheIdentity: false, request: false }
  const broken = {
    ...toy,
    client: {
      ...toy.client,
      cacheIdentity: (request: Parameters<typeof toy.client.cacheIdentity>[0]) => {
        if (faults.cacheIdentity) throw new RangeError('too deep')
        return toy.client.cacheIdentity(request)
      },
    },
    upstream: {
      ...toy.upstream,
      request: (...args: Parameters<typeof toy.upstream.request>) => {
        if (faults.request) throw new RangeError('too deep')
        return toy.upstream.request(...args)
      },
    },
  }
  const gateway = await testGateway(
    t,
    speaks({
      providers: { alpha: whole, beta: whole },
      dialects: { alpha: ['toy'], beta: ['toy'] },
      config: `cache: { enabled: true }
routes: { auto: { strategy: least-busy, targets: [ { model: alpha/m }, { model: beta/m } ] } }`,
      options: { dialects: { toy: broken } },
    }),
  )
  faults.cacheIdentity = true
  for (let call = 0; call < 20; call++) {
    const { status, json } = await speak(gateway.url, { voice: 'auto', say: `${call}` })
    assert.deepEqual([status, json.toy_error.kind], [500, 'internal'])
  }
  faults.cacheIdentity = false
  faults.request = true
  const failed = await speak(gateway.url, { voice: 'auto', say: 'hi' })
  assert.deepEqual([failed.status, failed.json.toy_error.kind], [500, 'internal'])
  const record = await gateway.record(failed.json.toy_error.id)
  assert.deepEqual([record.state, record.attempts, record.attempt_log[0].outcome], ['failed', 0, 'not_sent'])
  assert.equal(gateway.received(), 0)
  faults.request = false
  const { text } = await gateway.get('/metrics')
  assert.match(text, /^waybill_open_calls 0$/m)
  assert.match(text, /^waybill_refused_calls_total\{code="internal"\} 20$/m)
  // If the count of open calls leaked, one target would always look busy and receive no calls.
  for (let call = 0; call < 24; call++) await speak(gateway.url, { voice: 'auto', say: `after ${call}` })
  for (const { ledger } of Object.values(gateway.upstream)) assert.ok(ledger.length > 0)
})

// The call path over real sockets. Each case checks the client's answer, the provider's request and the
// record. Over 250 lines, because it is a list of independent cases.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect } from 'node:net'
import { test } from 'node:test'
import {
  answer,
  chunk,
  DONE,
  drained,
  event,
  fail,
  type Script,
  stream,
  streamed,
  USAGE,
  usageChunk,
} from '../../mocks/test-upstream.ts'
import { clock } from '../shared/clock.ts'
import { dated } from '../shared/test-clock.ts'
import {
  ask,
  providerKey,
  readBody,
  sharedGateways,
  type TestGateway,
  TWO_TARGETS,
  testGateway,
} from '../test/test-gateway.ts'
import { pause, until } from '../test/test-until.ts'

const sharedGateway = sharedGateways()

/** Two targets that are never passed over after a failure, so that tests can share them. */
const FALLBACK = `${TWO_TARGETS}\nresilience: { cooldown: 0s }`

const TOKENS = {
  input: 20,
  output: 7,
  cached_input: null,
  cache_write: null,
  reasoning: null,
  source: 'reported',
}

test('a call to a logical id reaches its target, the answer is relayed unchanged, and the record names both ids (ROUTE-01, TELL-01, TELL-03, LOG-01, LOG-02, USE-02)', async (t) => {
  const gateway = await sharedGateway(t)
  const { status, headers, json } = await gateway.chat(ask('auto'), { 'x-session-id': ' s-1 ' })
  assert.equal(status, 200)
  assert.equal(json.model, 'model-a-2026-01-01')
  assert.deepEqual(json.usage, USAGE)
  assert.equal(headers.get('x-gateway-provider'), 'alpha')
  assert.equal(headers.get('x-gateway-model'), 'model-a')
  assert.equal(headers.get('x-gateway-strategy'), 'priority')
  assert.equal(headers.get('x-request-id'), headers.get('x-gateway-request-id'), 'the provider sent none')
  assert.equal(headers.get('x-gateway-attempts'), '1')
  assert.equal(headers.get('x-gateway-cache'), 'BYPASS')
  assert.equal(headers.get('x-gateway-session-id'), 's-1')

  const [received] = gateway.upstream.alpha!.ledger
  assert.equal(received!.json.model, 'model-a')
  assert.equal(received!.headers.authorization, `Bearer ${providerKey('alpha')}`)

  const { created_at, completed_at, latency_ms, ttft_ms, attempt_log, artifact, ...record } =
    await gateway.record(headers.get('x-gateway-request-id'))
  assert.ok(Date.parse(created_at) <= Date.parse(completed_at))
  assert.ok(0 < ttft_ms && ttft_ms <= latency_ms)
  assert.ok(artifact.available && artifact.bytes > 0)
  assert.deepEqual(record, {
    id: headers.get('x-gateway-request-id'),
    state: 'completed',
    endpoint: '/v1/chat/completions',
    method: 'POST',
    object_id: null,
    objects: null,
    requested_model: 'auto',
    resolved_provider: 'alpha',
    resolved_model: 'model-a',
    picked_provider: 'alpha',
    picked_model: 'model-a',
    response_model: 'model-a-2026-01-01',
    response_id: null,
    container_id: null,
    plan_limits: null,
    route: 'auto',
    strategy: 'priority',
    tier: 'balanced',
    decision: { cause: 'priority', skipped: [] },
    session_id: 's-1',
    agent_id: null,
    parent_id: null,
    purpose: 'main',
    client: 'node',
    traceparent: null,
    transport: 'http',
    key_name: null,
    stream: false,
    status: 200,
    error_code: null,
    attempts: 1,
    fallbacks: 0,
    tokens: TOKENS,
    cost_usd: null,
    cost_missing: ['price'],
    price: null,
    cache: 'BYPASS',
    replayed: false,
    service_tier: null,
    speed: null,
    region: null,
    usage: null,
    reported_usd: null,
    priced_usd: null,
    flat_usd: null,
    cache_lost: null,
    saved_usd: null,
  })
  const [{ started_at, ended_at, ...attempt }] = attempt_log
  assert.ok(Date.parse(started_at) <= Date.parse(ended_at))
  assert.deepEqual(attempt, {
    n: 1,
    provider: 'alpha',
    model: 'model-a',
    status: 200,
    outcome: 'answered',
    error_code: null,
    refusal: null,
    tokens: TOKENS,
    cost_usd: null,
    losses: null,
    adjusted: null,
    provider_key: null,
    transport: 'http',
  })
  assert.equal(attempt_log.length, 1)
})

test('a stream keeps the provider’s bytes, except for a usage event that the client did not request (FLOW-01, USE-03, FLOW-07)', async (t) => {
  const sent = [
    ': hold on\n\n',
    chunk({ role: 'assistant' }),
    chunk({ content: 'Grüße 👋' }),
    chunk({}, { finish_reason: 'stop' }),
  ]
  const gateway = await sharedGateway(t, {
    providers: { alpha: stream(...sent, usageChunk(), DONE, ': after the end\n\n') },
  })
  const without = await gateway.chat(ask('auto', { stream: true }))
  assert.equal(without.headers.get('content-type'), 'text/event-stream')
  assert.equal(without.text, [...sent, DONE].join(''))
  const asked = await gateway.chat(ask('auto', { stream: true, stream_options: { include_usage: true } }))
  assert.equal(asked.text, [...sent, usageChunk(), DONE].join(''))
  for (const { headers } of [without, asked]) {
    const record = await gateway.record(headers.get('x-gateway-request-id'))
    assert.deepEqual(record.tokens, TOKENS)
    assert.equal(record.state, 'completed')
    assert.equal(record.stream, true)
  }
  for (const { json } of gateway.upstream.alpha!.ledger)
    assert.deepEqual(json.stream_options, { include_usage: true })
})

test('number spelling, unknown fields and key order reach the provider unchanged (ROUTE-05, ROUTE-06)', async (t) => {
  const gateway = await sharedGateway(t)
  const body =
    '{ "seed": 12345678901234567890, "model": "auto",\n "temperature": 1.0, "messages": [{"role":"user","content":"\\u00e9 \\"model\\": 1"}], "x_new": {"model": "inner"} }'
  assert.equal((await gateway.chat(body)).status, 200)
  assert.equal(gateway.upstream.alpha!.ledger[0]!.text, body.replace('"auto"', '"model-a"'))
})

test('after a failed target, the call moves to the next target, and the answer names the target that served it (ROUTE-07, TELL-02)', async (t) => {
  const gateway = await sharedGateway(t, {
    providers: { alpha: answer(), beta: answer() },
    config: FALLBACK,
  })
  for (const status of [401, 402, 403, 408, 409, 425, 429, 500, 502, 503, 529])
    await t.test(`a call moves to the next target after a ${status}`, async () => {
      gateway.upstream.alpha!.script = fail(status)
      const { headers, status: got } = await gateway.chat(ask('auto'))
      assert.equal(got, 200)
      assert.equal(headers.get('x-gateway-provider'), 'beta')
      assert.equal(headers.get('x-gateway-attempts'), '2')
      const record = await gateway.record(headers.get('x-gateway-request-id'))
      assert.deepEqual(
        [record.resolved_provider, record.picked_provider, record.attempts, record.fallbacks],
        ['beta', 'alpha', 2, 1],
      )
      assert.equal(record.tier, 'cheap')
      assert.deepEqual(record.tokens, TOKENS)
      assert.deepEqual(
        record.attempt_log.map((a: any) => [a.n, a.provider, a.outcome, a.status, a.error_code]),
        [
          [1, 'alpha', 'failed', status, `e${status}`],
          [2, 'beta', 'answered', 200, null],
        ],
      )
    })
})

test("a refusal of the request is final and keeps the provider's words (ROUTE-07, FAIL-04)", async (t) => {
  const gateway = await testGateway(t, {
    providers: { alpha: answer(), beta: answer() },
    config: TWO_TARGETS,
  })
  for (const status of [400, 404, 413, 422])
    await t.test(`a ${status} from a provider is final`, async () => {
      gateway.upstream.alpha!.script = fail(status, { 'retry-after': '7' })
      const { headers, json, status: got } = await gateway.chat(ask('auto'))
      assert.equal(got, status)
      assert.equal(json.error.message, `mock ${status}`)
      assert.equal(headers.get('retry-after'), '7')
      assert.equal(gateway.upstream.beta!.ledger.length, 0)
      const record = await gateway.record(headers.get('x-gateway-request-id'))
      assert.deepEqual([record.state, record.status, record.error_code], ['failed', status, `e${status}`])
    })
})

test('when every target has failed, the last answer is relayed and every attempt is recorded (LOG-05, ROUTE-04)', async (t) => {
  const gateway = await sharedGateway(t, {
    providers: { alpha: fail(500), beta: fail(429, { 'retry-after': '3' }) },
    config: FALLBACK,
  })
  const { status, headers, json } = await gateway.chat(ask('auto'))
  assert.equal(status, 429)
  assert.equal(json.error.message, 'mock 429')
  assert.equal(headers.get('retry-after'), '3')
  const record = await gateway.record(headers.get('x-gateway-request-id'))
  assert.deepEqual([record.state, record.resolved_provider, record.attempt_log.length], ['failed', 'beta', 2])
  assert.equal(gateway.received(), 2)
})

test('if a provider refuses the gateway’s own key, the client sees only the gateway’s message', async (t) => {
  const gateway = await sharedGateway(t, {
    providers: { alpha: fail(401, {}, { message: 'bad key, organisation 42' }) },
  })
  const { status, json, text } = await gateway.chat(ask('auto'))
  assert.equal(status, 502)
  assert.equal(json.error.code, 'upstream_refused')
  assert.doesNotMatch(text, /organisation 42/)
})

test('an error event before the response starts counts as a 5xx; a later error event is relayed to the client and recorded (FLOW-09, ROUTE-08)', async (t) => {
  const trouble = event({ error: { message: 'quota', code: 'insufficient_quota' } })
  const gateway = await sharedGateway(t, {
    providers: { alpha: stream(': wait\n\n', trouble), beta: streamed('hi') },
    config: FALLBACK,
  })
  const before = await gateway.chat(ask('auto', { stream: true }))
  assert.equal(before.headers.get('x-gateway-provider'), 'beta')
  assert.doesNotMatch(before.text, /quota|wait/)
  const first = await gateway.record(before.headers.get('x-gateway-request-id'))
  assert.deepEqual(
    [first.attempt_log[0].outcome, first.attempt_log[0].error_code],
    ['failed', 'insufficient_quota'],
  )
  assert.equal(first.tokens.input, 20, 'what the second attempt used')
  assert.deepEqual(first.cost_missing, ['attempt', 'price'], 'what the failed stream used is not known')

  gateway.upstream.beta!.script = stream(chunk({ content: 'half' }), trouble)
  const after = await gateway.chat(ask('beta/model-b', { stream: true }))
  assert.equal(after.text, chunk({ content: 'half' }) + trouble)
  const second = await gateway.record(after.headers.get('x-gateway-request-id'))
  assert.deepEqual(
    [second.state, second.status, second.error_code, second.attempts],
    ['failed', 200, 'insufficient_quota', 1],
  )
  assert.deepEqual([second.route, second.strategy], [null, 'direct'])
})

// Agents decide by these words whether to retry (docs/agents.md).
for (const [name, script, code, words] of [
  [
    'closes its connection',
    stream(chunk({ content: 'half' }), 20, (response) => response.destroy()),
    'upstream_unreachable',
    /connection reset.+terminated/i,
  ],
  [
    'ends without finishing',
    stream(chunk({ content: 'half' }), 'data: {"id": "ha'),
    'upstream_invalid',
    /premature end/i,
  ],
] as const)
  test(`a stream whose provider ${name} ends in an error that the client can see, without [DONE] (FLOW-06)`, async (t) => {
    const gateway = await sharedGateway(t, { providers: { alpha: script } })
    const response = await fetch(`${gateway.url}/v1/chat/completions`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(ask('auto', { stream: true })),
    })
    const { text, isCut } = await readBody(response)
    assert.equal(isCut, code === 'upstream_unreachable', 'a body ends as the body of the provider does')
    assert.ok(text.startsWith(chunk({ content: 'half' })), text)
    const { error } = JSON.parse(text.split('data: ').at(-1)!)
    assert.equal(error.code, code)
    assert.match(error.message, words)
    assert.doesNotMatch(text, /DONE/)
    const record = await gateway.record(response.headers.get('x-gateway-request-id'))
    assert.deepEqual([record.state, record.error_code], ['failed', code])
  })

test('when a client leaves before the answer, the provider’s request is aborted and no other target is tried', async (t) => {
  const leave = new AbortController()
  const gateway = await sharedGateway(t, {
    providers: { alpha: () => leave.abort(), beta: answer() },
    config: FALLBACK,
  })
  const { abandoned } = gateway.upstream.alpha!
  await assert.rejects(
    fetch(`${gateway.url}/v1/chat/completions`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(ask('auto')),
      signal: leave.signal,
    }),
  )
  const { json } = await gateway.get('/api/usage/request-logs')
  const record = await gateway.record(json.data[0].id)
  assert.deepEqual(
    [record.state, record.attempt_log.length, record.attempt_log[0].outcome],
    ['aborted', 1, 'aborted'],
  )
  assert.equal(gateway.upstream.beta!.ledger.length, 0)
  await until('the provider is left', () => gateway.upstream.alpha!.abandoned > abandoned)
})

test('a slow client slows the provider down without filling the memory (FLOW-10)', async (t) => {
  const big = chunk({ content: 'x'.repeat(64 * 1024) })
  const EVENTS = 500 // far more than the buffers of both connections hold
  let written = 0
  const gateway = await sharedGateway(t, {
    providers: {
      alpha: async (response) => {
        response.writeHead(200, { 'content-type': 'text/event-stream' })
        for (let i = 0; i < EVENTS && !response.destroyed; i++) {
          written++
          if (!response.write(big)) await drained(response)
        }
        response.end(chunk({}, { finish_reason: 'stop' }) + DONE)
      },
    },
  })
  const response = await fetch(`${gateway.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(ask('auto', { stream: true })),
  })
  await pause(500)
  const held = written
  assert.ok(held < EVENTS, `all ${held} events were taken from the provider while the client read none`)
  let bytes = 0
  for await (const part of response.body!) bytes += part.length
  assert.equal(bytes, EVENTS * big.length + (chunk({}, { finish_reason: 'stop' }) + DONE).length)
})

test('a refused connection is retried and recorded as not sent; no key is charged for it', async (t) => {
  const gateway = await testGateway(t, {
    providers: { alpha: answer(), beta: answer() },
    config: TWO_TARGETS,
  })
  await gateway.upstream.alpha!.close()
  const { headers } = await gateway.chat(ask('auto'))
  const record = await gateway.record(headers.get('x-gateway-request-id'))
  assert.deepEqual(
    record.attempt_log.map((a: any) => [a.provider, a.outcome, a.error_code]),
    [
      ['alpha', 'not_sent', 'upstream_unreachable'],
      ['alpha', 'not_sent', 'upstream_unreachable'],
      ['beta', 'answered', null],
    ],
  )
  assert.deepEqual([record.attempts, record.fallbacks, record.tokens.input], [1, 1, 20])
  assert.equal(headers.get('x-gateway-attempts'), '1')
})

test('each target has retries of its own', async (t) => {
  const gateway = await testGateway(t, {
    providers: { alpha: answer(), beta: answer() },
    config: TWO_TARGETS,
  })
  for (const { close } of Object.values(gateway.upstream)) await close()
  const { status, headers } = await gateway.chat(ask('auto'))
  assert.equal(status, 502)
  const { attempt_log } = await gateway.record(headers.get('x-gateway-request-id'))
  assert.deepEqual(
    attempt_log.map(({ provider }: { provider: string }) => provider),
    ['alpha', 'alpha', 'beta', 'beta'],
  )
})

test('a failed target is skipped while it cools down, and Retry-After sets the duration (ROUTE-09)', async (t) => {
  let time = clock.now()
  const gateway = await testGateway(t, {
    providers: { alpha: fail(429, { 'retry-after': '5' }), beta: answer() },
    config: TWO_TARGETS,
    clock: dated(() => time),
  })
  await gateway.chat(ask('auto'))
  const second = await gateway.chat(ask('auto'))
  assert.equal(gateway.upstream.alpha!.ledger.length, 1)
  const record = await gateway.record(second.headers.get('x-gateway-request-id'))
  assert.deepEqual(record.decision, {
    cause: 'priority',
    skipped: [{ target: 'alpha/model-a', reason: 'cooling' }],
  })
  time += 5_001
  await gateway.chat(ask('auto'))
  assert.equal(gateway.upstream.alpha!.ledger.length, 2)
})

test('the cost is recorded with a snapshot of the price, or as null if the price is unknown; cached tokens have their own rate (USE-05, USE-06)', async (t) => {
  const usage = {
    prompt_tokens: 1_000_000,
    completion_tokens: 500_000,
    prompt_tokens_details: { cached_tokens: 400_000 },
    completion_tokens_details: { reasoning_tokens: 0 },
  }
  const gateway = await testGateway(t, {
    providers: { alpha: answer('x', usage) },
    config:
      'models: { alpha/model-a: { price: { input: 2, output: 8, cached_input: 0.5 } } }\nroutes: { auto: { targets: [ { model: alpha/model-a } ] } }',
  })
  const known = await gateway.record((await gateway.chat(ask('auto'))).headers.get('x-gateway-request-id'))
  assert.ok(Math.abs(known.cost_usd - (0.6 * 2 + 0.4 * 0.5 + 0.5 * 8)) < 1e-9)
  assert.deepEqual(known.price, {
    source: 'config',
    model: 'model-a',
    rates: { input_mtok: 2, output_mtok: 8, cache_read_mtok: 0.5 },
  })
  assert.deepEqual(known.tokens, {
    input: 1_000_000,
    output: 500_000,
    cached_input: 400_000,
    cache_write: null,
    reasoning: 0,
    source: 'reported',
  })
  const unknown = await gateway.record(
    (await gateway.chat(ask('alpha/other'))).headers.get('x-gateway-request-id'),
  )
  assert.deepEqual([unknown.cost_usd, unknown.price], [null, null])
})

test('a key that a provider repeats in its words, in a code, in escapes or in a header reaches neither the client nor the record (KEEP-01, KEEP-02)', async (t) => {
  const key = providerKey('alpha')
  const escaped = `{"error":{"message":"key \\u0073${key.slice(1)}","type":"t","param":null,"code":"${key}"}}`
  const gateway = await sharedGateway(t, {
    providers: {
      alpha: (response) =>
        response
          .writeHead(400, { 'content-type': 'application/json', 'x-request-id': `req-${key}` })
          .end(escaped),
    },
  })
  const plain = await gateway.chat(ask('auto'))
  assert.equal(plain.json.error.message, 'key ***')
  assert.equal(plain.headers.get('x-request-id'), 'req-***')
  const record = await gateway.record(plain.headers.get('x-gateway-request-id'))
  assert.equal(record.error_code, 'upstream_error')
  gateway.upstream.alpha!.script = stream(chunk({ content: 'x' }), `data: ${escaped}\n\n`)
  const inStream = await gateway.chat(ask('auto', { stream: true }))
  assert.match(inStream.text, /key \*\*\*/)
  const echo = { message: `Incorrect API key ${key}` }
  gateway.upstream.alpha!.script = fail(400, {}, echo)
  const words = await gateway.chat(ask('auto'))
  assert.match(words.json.error.message, /Incorrect API key \*\*\*/)
  gateway.upstream.alpha!.script = stream(chunk({ content: 'x' }), event({ error: echo }))
  const wordsInStream = await gateway.chat(ask('auto', { stream: true }))
  assert.match(wordsInStream.text, /Incorrect API key \*\*\*/)
  for (const text of [plain.text, inStream.text, JSON.stringify(record), words.text, wordsInStream.text])
    assert.doesNotMatch(text, /alpha-secret/)
})

test('an error names the provider that sent it', async (t) => {
  const page: Script = (response) => {
    response.writeHead(500, { 'content-type': 'text/html' }).end('<h1>alpha is down</h1>')
  }
  const gateway = await sharedGateway(t, {
    providers: { alpha: page, beta: (response) => response.destroy() },
    config: FALLBACK,
  })
  const { json, headers } = await gateway.chat(ask('auto'))
  assert.match(json.error.message, /^alpha answered with status 500: <h1>alpha is down/)
  assert.equal(headers.get('x-gateway-provider'), 'beta', 'the last one tried')
})

/** A raw client that requests a whole answer and reads only its first bytes. */
async function halfReader(gateway: TestGateway) {
  const socket = connect(Number(new URL(gateway.url).port), '127.0.0.1')
  const body = JSON.stringify(ask('auto'))
  socket.write(
    `POST /v1/chat/completions HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`,
  )
  const [head] = await once(socket, 'data')
  socket.pause()
  return { socket, id: /x-gateway-request-id: (\S+)/.exec(String(head))![1]! }
}

const HUGE = 'x'.repeat(30_000_000)

test('a call whose client leaves midway through a whole answer is not recorded as served (LOG-06)', async (t) => {
  const gateway = await sharedGateway(t, { providers: { alpha: answer(HUGE) } })
  const { socket, id } = await halfReader(gateway)
  socket.destroy()
  const record = await gateway.record(id)
  assert.deepEqual([record.state, record.status, record.error_code], ['aborted', 499, 'client_closed'])
  assert.equal(record.attempt_log[0].outcome, 'answered')
})

test('a client that reads nothing is disconnected after the idle time', async (t) => {
  const gateway = await testGateway(t, {
    providers: { alpha: answer(HUGE) },
    config: 'resilience: { idle: 300ms }\nroutes: { auto: { targets: [ { model: alpha/model-a } ] } }',
  })
  const { socket, id } = await halfReader(gateway)
  const record = await gateway.record(id)
  assert.deepEqual([record.state, record.error_code], ['aborted', 'client_closed'])
  socket.destroy()
})

test('a stream that fails immediately leaves no timer behind', async (t) => {
  const trouble = event({ error: { message: 'no', code: 'no' } })
  const gateway = await testGateway(t, {
    providers: { alpha: stream(trouble + chunk({ content: 'x' }) + DONE) },
    config: 'resilience: { idle: 77s }\nroutes: { auto: { targets: [ { model: alpha/model-a } ] } }',
  })
  const timers = () => process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length
  await gateway.chat(ask('alpha/model-a'))
  const before = timers()
  for (let i = 0; i < 20; i++) await gateway.chat(ask('auto', { stream: true }))
  assert.ok(timers() < before + 10, `${timers()} timers, ${before} before`)
})

// Routing over real sockets: reactions of the strategies to live traffic, sessions, rules and capabilities.
// Over 250 lines, because it is a list of cases.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import Database from 'better-sqlite3'
import { answer, chunk, DONE, event, fail, type Script, stream, streamed } from '../../mocks/test-upstream.ts'
import { clock } from '../shared/clock.ts'
import { dated } from '../shared/test-clock.ts'
import { databaseFile } from '../store/sqlite/open.ts'
import { ask, type TestGateway, temporaryDirectory, testGateway } from '../test/test-gateway.ts'
import { pause, until } from '../test/test-until.ts'

const TARGETS = 'targets: [ { model: alpha/model-a }, { model: beta/model-b } ]'
const auto = (settings: string): string => `routes: { auto: { ${settings}, ${TARGETS} } }`

/** Returns the number of calls that each provider received. */
const counts = (gateway: TestGateway): number[] =>
  Object.values(gateway.upstream).map(({ ledger }) => ledger.length)

const served = async (
  gateway: TestGateway,
  body: object = ask('auto'),
  headers = {},
): Promise<string | null> => (await gateway.chat(body, headers)).headers.get('x-gateway-provider')

/** Answers after `ms`. */
const after =
  (ms: number, then: Script): Script =>
  async (response, received) => {
    await pause(ms)
    then(response, received)
  }

test('fastest: a stream is measured to its first event, and from there to its end by its tokens (ROUTE-10)', async (t) => {
  const usage = { prompt_tokens: 9, completion_tokens: 100 }
  const end = [chunk({}, { finish_reason: 'stop' }), event({ choices: [], usage }), DONE]
  const gateway = await testGateway(t, {
    providers: {
      alpha: stream(chunk({ content: 'at once' }), 900, ...end),
      beta: stream(600, chunk({ content: 'late' }), ...end),
    },
    config: auto('strategy: fastest'),
  })
  for (let n = 0; n < 3; n++) await served(gateway, ask('auto', { stream: true }))
  assert.deepEqual(counts(gateway), [1, 2])
})

test('fastest: a provider that refuses quickly is not the fastest (ROUTE-10)', async (t) => {
  const gateway = await testGateway(t, {
    providers: { alpha: fail(404), beta: after(50, answer()) },
    config: auto('strategy: fastest'),
  })
  for (let n = 0; n < 5; n++) await served(gateway)
  assert.deepEqual(counts(gateway), [1, 4])
})

test('least-busy: concurrent calls are distributed, and no longer count once they are over (ROUTE-10)', async (t) => {
  const gate = Promise.withResolvers<void>()
  const held: Script = async (response, received) => {
    await gate.promise
    answer()(response, received)
  }
  const gateway = await testGateway(t, {
    providers: { alpha: held, beta: held },
    config: auto('strategy: least-busy'),
  })
  const chances = async () =>
    (await gateway.get('/api/cloud/model/resolve?model=auto')).json.candidates.map(
      ({ probability }: { probability: number }) => probability,
    )
  const leave = new AbortController()
  const direct = fetch(`${gateway.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(ask('alpha/other')),
    signal: leave.signal,
  })
  await until('all calls have arrived', () => gateway.received() === 1)
  const calls = Array.from({ length: 10 }, () => gateway.chat(ask('auto')))
  await until('all calls have arrived', () => gateway.received() === 11)
  assert.deepEqual(counts(gateway), [6, 5], 'ten in two halves; a call to another model is another target')
  assert.deepEqual(await chances(), [0.5, 0.5])
  leave.abort()
  await assert.rejects(direct)

  const more = gateway.chat(ask('auto'))
  await until('all calls have arrived', () => gateway.received() === 12)
  const [, beta] = counts(gateway)
  assert.deepEqual(await chances(), beta === 6 ? [1, 0] : [0, 1])
  gate.resolve()
  for (const { status } of await Promise.all([...calls, more])) assert.equal(status, 200)
  await until('no call is open', async () => (await chances()).join() === '0.5,0.5')
})

test('a call whose client leaves, or that cannot be recorded, no longer counts as open (ROUTE-10)', async (t) => {
  const gateway = await testGateway(t, {
    providers: { alpha: stream(chunk({ content: 'x' }), 60_000), beta: answer() },
    config: auto('strategy: least-busy'),
    options: { random: () => 0 }, // the first of two equal targets
  })
  const leave = new AbortController()
  const response = await fetch(`${gateway.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(ask('auto', { stream: true })),
    signal: leave.signal,
  })
  const probability = async () =>
    (await gateway.get('/api/cloud/model/resolve?model=auto')).json.candidates[0].probability
  assert.equal(await probability(), 0)
  const id = response.headers.get('x-gateway-request-id')
  const open = await gateway.get(`/api/usage/request-logs/${id}`)
  assert.equal(open.json.attempt_log[0].outcome, 'open')
  leave.abort()
  await gateway.record(id)
  assert.equal(await probability(), 0.5)

  const database = new Database(databaseFile(gateway.data))
  t.after(() => database.close())
  database.exec(
    `CREATE TRIGGER full BEFORE INSERT ON call_logs BEGIN SELECT RAISE(FAIL, 'disk is full'); END`,
  )
  assert.equal((await gateway.chat(ask('auto'))).status, 503)
  assert.equal(await probability(), 0.5)
})

test('cheapest: a session goes where its calls cost least, and the record and resolve show the costs and what they assume (ROUTE-10, ROUTE-11)', async (t) => {
  const usage = (cached: number): object => ({
    prompt_tokens: 40_000,
    completion_tokens: 300,
    prompt_tokens_details: { cached_tokens: cached },
  })
  const gateway = await testGateway(t, {
    providers: { alpha: answer(), beta: answer('', usage(0)) },
    config: `
models:
  alpha/model-a: { price: { input: 0.15, cached_input: 0.075, output: 0.6 } }
  beta/model-b: { price: { input: 0.22, cached_input: 0.007, output: 0.66 } }
${auto('strategy: cheapest')}`,
  })
  const body = ask('auto', { messages: [{ role: 'user', content: 'a word or two '.repeat(10_000) }] })
  const session = { 'x-session-id': 'one' }
  assert.equal(await served(gateway), 'alpha', 'one short call')
  assert.equal(await served(gateway, body, session), 'beta')
  gateway.upstream.beta!.script = answer('', usage(39_000))
  const { headers } = await gateway.chat(body, session)
  const record = await gateway.record(headers.get('x-gateway-request-id'))
  const [alpha, beta] = record.decision.estimate.targets
  assert.deepEqual([record.resolved_provider, alpha.cached_tokens], ['beta', 0])
  assert.ok(beta.cached_tokens > 39_000 && beta.usd < alpha.usd / 2, JSON.stringify(record.decision))
  assert.ok(Math.abs(beta.usd - record.cost_usd) < 0.0005, `${beta.usd}, ${record.cost_usd}`)

  const resolve = async (more: string) =>
    (await gateway.get(`/api/cloud/model/resolve?model=auto${more}`)).json
  const { deterministic, depends_on, provider, estimate } = await resolve('')
  assert.deepEqual([deterministic, depends_on, provider], [false, ['session', 'shape'], 'alpha'])
  assert.equal(estimate.targets.length, 2)
  const known = await resolve('&input_tokens=40000&session_id=one')
  assert.deepEqual([known.deterministic, known.depends_on, known.provider], [true, [], 'beta'])
  const other = await resolve('&input_tokens=40000&session_id=two')
  assert.equal(other.estimate.targets[1].cached_tokens, 0)
})

test('sticky: a session stays with the target of its first call; a fallback moves it, and a restart forgets it (ROUTE-10)', async (t) => {
  const data = temporaryDirectory(t)
  const setup = {
    providers: { alpha: answer(), beta: answer() },
    config: auto('strategy: round-robin, sticky: session'),
    data,
  }
  const gateway = await testGateway(t, setup)
  const one = { 'x-session-id': 'one' }
  assert.equal(await served(gateway, undefined, one), 'alpha')
  assert.equal(await served(gateway, undefined, { 'x-session-id': 'two' }), 'beta')
  for (let n = 0; n < 3; n++) assert.equal(await served(gateway, undefined, one), 'alpha')

  gateway.upstream.alpha!.script = fail(429, { 'retry-after': '0' })
  assert.equal(await served(gateway, undefined, one), 'beta')
  gateway.upstream.alpha!.script = answer()
  const { headers } = await gateway.chat(ask('auto'), one)
  assert.equal(headers.get('x-gateway-provider'), 'beta', 'alpha is ready again, and the session stays')
  const { decision } = await gateway.record(headers.get('x-gateway-request-id'))
  assert.deepEqual(decision, { cause: 'sticky', skipped: [] })

  await gateway.gateway.close()
  const again = await testGateway(t, setup)
  assert.equal(await served(again, undefined, one), 'alpha', 'the first of a new rotation')
})

const RULES = `
routes:
  auto:
    rules:
      - { when: { images: true }, use: { target: beta/model-b } }
      - { when: { tools: true, effort: [high, xhigh] }, use: { tier: premium } }
      - { when: { input_tokens: { over: 2000 } }, use: { tier: roomy } }
    targets:
      - { model: alpha/model-a, tier: cheap }
      - { model: beta/model-b, tier: premium }
      - { model: gamma/model-c, tier: roomy }
`
const TOOLS = [{ type: 'function', function: { name: 'f', parameters: { type: 'object' } } }]
const IMAGE = {
  messages: [
    { role: 'user', content: [{ type: 'image_url', image_url: { url: 'data:image/png;base64,AA' } }] },
  ],
}

const RULED = [
  ['plain text', {}, 'alpha', 'priority'],
  ['an image', IMAGE, 'beta', 'rule 1: images'],
  [
    'tools and much effort',
    { tools: TOOLS, reasoning_effort: 'high' },
    'beta',
    'rule 2: tools, effort high or xhigh',
  ],
  ['tools alone', { tools: TOOLS }, 'alpha', 'priority'],
  [
    'a long text',
    { messages: [{ role: 'user', content: 'a word or two '.repeat(1_000) }] },
    'gamma',
    'rule 3: input_tokens over 2000',
  ],
] as const

test('a rule sends a call to its target, and the record says why (ROUTE-10)', async (t) => {
  const gateway = await testGateway(t, {
    providers: { alpha: answer(), beta: answer(), gamma: answer() },
    config: RULES,
  })
  for (const [name, body, provider, cause] of RULED)
    await t.test(`a call with ${name} goes to ${provider}`, async () => {
      const { headers } = await gateway.chat(ask('auto', body))
      assert.equal(headers.get('x-gateway-provider'), provider)
      const { decision } = await gateway.record(headers.get('x-gateway-request-id'))
      assert.equal(decision.cause, cause)
      assert.equal(decision.skipped.length, cause === 'priority' ? 0 : 2)
    })
})

test('a call that needs tools, images or a long context uses only targets that support them, and is refused if there is no such target (ROUTE-12, PURE-07)', async (t) => {
  const gateway = await testGateway(t, {
    providers: { alpha: answer(), beta: answer() },
    config: `
models:
  alpha/model-a: { capabilities: { tools: false, images: false }, context: 500, tier: small }
  beta/model-b: { capabilities: { images: false } }
${auto('strategy: priority')}`,
  })
  const plain = await gateway.chat(ask('auto'))
  const record = await gateway.record(plain.headers.get('x-gateway-request-id'))
  assert.deepEqual([record.resolved_provider, record.tier], ['alpha', 'small'])

  const long = { messages: [{ role: 'user', content: 'a word or two '.repeat(1_000) }] }
  for (const [body, reason] of [
    [{ tools: TOOLS }, 'no tools'],
    [long, 'context of 500 tokens too short'],
  ] as const) {
    const { headers } = await gateway.chat(ask('auto', body))
    const { decision, resolved_provider, attempt_log } = await gateway.record(
      headers.get('x-gateway-request-id'),
    )
    assert.deepEqual(decision.skipped, [{ target: 'alpha/model-a', reason }])
    assert.deepEqual([resolved_provider, attempt_log.length], ['beta', 1])
  }

  const before = gateway.received()
  const { status, json } = await gateway.chat(ask('auto', IMAGE))
  assert.deepEqual([status, json.error.code], [503, 'no_target_available'])
  assert.match(json.error.message, /alpha\/model-a: no images; beta\/model-b: no images/)
  assert.equal(gateway.received(), before)
  const { json: log } = await gateway.get('/api/usage/request-logs')
  assert.equal(log.data.length, 3, 'what was refused before routing has no record')

  assert.equal(
    (await gateway.chat(ask('alpha/model-a', IMAGE))).status,
    200,
    'a direct id is the client’s choice',
  )
})

test('`answer_model: requested` writes the requested id into the answer and each event, and changes nothing else', async (t) => {
  const gateway = await testGateway(t, {
    providers: { alpha: streamed('Grüße'), beta: answer() },
    config: `routes:
  as/it-is: { targets: [ { model: alpha/model-a } ] }
  as/asked: { answer_model: requested, targets: [ { model: alpha/model-a } ] }
  whole: { answer_model: requested, targets: [ { model: beta/model-b } ] }`,
  })
  const more = { stream: true, stream_options: { include_usage: true } }
  const untouched = await gateway.chat(ask('as/it-is', more))
  assert.match(untouched.text, /"model":"model-a-2026-01-01"/)
  const renamed = await gateway.chat(ask('as/asked', more))
  assert.equal(renamed.text, untouched.text.replaceAll('"model-a-2026-01-01"', '"as/asked"'))
  const { response_model } = await gateway.record(renamed.headers.get('x-gateway-request-id'))
  assert.equal(response_model, 'model-a-2026-01-01', 'the record says what the provider said')

  const whole = await gateway.chat(ask('whole'))
  const direct = await gateway.chat(ask('beta/model-b'))
  assert.equal(whole.text, direct.text.replace('"model-b-2026-01-01"', '"whole"'))

  const trouble = event({ error: { message: 'no', code: 'no' } })
  gateway.upstream.alpha!.script = stream(chunk({ content: 'x' }, { model: 'm' }), ': ping\n\n', trouble)
  const failed = await gateway.chat(ask('as/asked', more))
  assert.equal(failed.text, `${chunk({ content: 'x' }, { model: 'as/asked' })}: ping\n\n${trouble}`)
})

test('after its cooldown, a target is retried by the next call, and by nothing else (ROUTE-09, PURE-01)', async (t) => {
  let time = clock.now()
  const gateway = await testGateway(t, {
    providers: { alpha: fail(503), beta: answer() },
    config: `resilience: { cooldown: 10s }\n${auto('strategy: priority')}`,
    clock: dated(() => time),
  })
  await served(gateway)
  time += 10_001
  for (const path of [
    '/readyz',
    '/v1/models',
    '/api/cloud/model/resolve?model=auto',
    '/api/usage/request-logs',
  ])
    assert.equal((await gateway.get(path)).status, 200)
  await pause(100)
  assert.deepEqual(counts(gateway), [1, 1])
  gateway.upstream.alpha!.script = answer()
  assert.equal(await served(gateway), 'alpha')
  assert.equal(await served(gateway), 'alpha')
})

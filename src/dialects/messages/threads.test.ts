// Threads, call by call: the targets on which a turn may continue, and the errors for other targets.
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { type TestContext, test } from 'node:test'
import type { Script } from '../../../mocks/test-upstream.ts'
import { type Setup, type TestGateway, temporaryDirectory, testGateway } from '../../test/test-gateway.ts'
import { samples } from './test-samples.ts'

const JSON_TYPE = { 'content-type': 'application/json' }
const HEADERS = {
  ...JSON_TYPE,
  'anthropic-version': '2026-10-21',
  'anthropic-beta': 'message-threads-2026-08-12',
}
const route = (strategy: string, more = '') =>
  `auto: { strategy: ${strategy}, targets: [ { model: alpha/m }, { model: beta/m } ] ${more} }`
const CREATE = { thread: { type: 'create' } }
const after = (id: unknown) => ({ thread: { type: 'continue', previous_message_id: id } })

const says =
  (id: string): Script =>
  (res) =>
    void res.writeHead(200, JSON_TYPE).end(JSON.stringify({ ...JSON.parse(samples.answer('m', {})), id }))
const fails =
  (status: number, error: object): Script =>
  (res) =>
    void res.writeHead(status, JSON_TYPE).end(JSON.stringify({ type: 'error', error, request_id: 'req_1' }))

const start = (t: TestContext, setup: Setup) =>
  testGateway(t, {
    dialects: { alpha: ['messages'], beta: ['messages'] },
    providers: { alpha: says('msg_a'), beta: says('msg_b') },
    ...setup,
  })

async function ask({ get }: TestGateway, more: object, headers: Record<string, string> = {}) {
  const answer = await get('/v1/messages', {
    method: 'POST',
    headers: { ...HEADERS, ...headers },
    body: JSON.stringify({
      model: 'auto',
      max_tokens: 9,
      messages: [{ role: 'user', content: 'x' }],
      ...more,
    }),
  })
  const { headers: told } = answer
  return { ...answer, provider: told.get('x-gateway-provider'), id: told.get('x-gateway-request-id') }
}

test('with any strategy and rules, a turn continues at the provider that stores its thread, even after a restart (STATE-01)', async (t) => {
  const data = temporaryDirectory(t)
  const config = `routes: { ${route('round-robin')}, ruled: { targets: [ { model: alpha/m, tier: small }, { model: beta/m, tier: large } ], rules: [ { when: { tools: false }, use: { tier: large } } ] } }\nresilience: { cooldown: 0s }`
  const gateway = await start(t, { data, config })
  assert.deepEqual(
    [(await ask(gateway, CREATE)).provider, (await ask(gateway, CREATE)).provider],
    ['alpha', 'beta'],
  )
  const goesOn = async (on: TestGateway) => {
    for (const [id, provider] of [
      ['msg_a', 'alpha'],
      ['msg_b', 'beta'],
      ['msg_a', 'alpha'],
    ])
      for (const model of ['auto', 'ruled'])
        assert.equal((await ask(on, { ...after(id), model })).provider, provider, `${model} ${id}`)
  }
  await goesOn(gateway)
  await gateway.gateway.close()
  const again = await start(t, { data, config })
  await goesOn(again)
  const { json, headers } = again.upstream.beta!.ledger.at(-1)!
  assert.deepEqual(
    [json.thread, headers['anthropic-beta']],
    [after('msg_b').thread, HEADERS['anthropic-beta']],
  )

  const overloaded = { type: 'overloaded_error', message: 'Overloaded' }
  again.upstream.alpha!.script = fails(529, overloaded)
  const down = await ask(again, after('msg_a'))
  assert.deepEqual(
    [down.status, down.provider, down.headers.get('x-gateway-fallbacks')],
    [529, 'alpha', null],
  )
  const { decision } = await again.record(down.id)
  assert.deepEqual(decision.skipped, [{ target: 'beta/m', reason: 'the thread is kept by alpha' }])
})

test('the provider’s own errors about a thread reach the client unchanged (STATE-01)', async (t) => {
  const gateway = await start(t, { config: `routes: { ${route('priority')} }` })
  await ask(gateway, CREATE)
  for (const [status, error_code] of [
    [404, 'thread_not_found'],
    [400, 'thread_already_continued'],
    [400, 'thread_continue_in_flight'],
    [400, 'thread_unsupported_request'],
  ] as const) {
    const error = { type: 'invalid_request_error', message: 'no', details: { error_code, more: 1 } }
    gateway.upstream.alpha!.script = fails(status, error)
    const answer = await ask(gateway, after('msg_a'))
    assert.deepEqual([answer.status, answer.json.error, answer.provider], [status, error, 'alpha'])
  }
})

test('a request for an unknown thread, or a thread that belongs to another key or target, fails as not found, without an inference (STATE-01)', async (t) => {
  const digest = (key: string) => `sha256:${createHash('sha256').update(key).digest('hex')}`
  const gateway = await start(t, {
    config: `routes: { ${route('priority')} }
keys: [ { name: one, role: admin, digest: "${digest('k1')}" }, { name: two, digest: "${digest('k2')}" } ]`,
  })
  const one = { 'x-api-key': 'k1' }
  await ask(gateway, CREATE, one)
  gateway.upstream.alpha!.script = says('msg_plain')
  await ask(gateway, {}, one)
  const before = gateway.received()
  for (const [id, headers, more] of [
    ['msg_of_nobody', one, {}],
    ['msg_plain', one, {}],
    ['msg_a', { 'x-api-key': 'k2' }, {}],
    ['msg_a', one, { model: 'beta/m' }],
  ] as const) {
    const { status, json } = await ask(gateway, { ...after(id), ...more }, headers)
    assert.deepEqual(
      [status, json.type, json.error.type, json.error.details],
      [404, 'error', 'not_found_error', { error_code: 'thread_not_found' }],
      id,
    )
  }
  const unnamed = await ask(gateway, after(7), one)
  assert.deepEqual([unnamed.status, unnamed.json.error.type], [400, 'invalid_request_error'])
  assert.equal(gateway.received(), before)
  assert.equal((await ask(gateway, after('msg_a'), one)).status, 200)
  const listed = await gateway.get('/api/usage/request-logs', { headers: one })
  const ids = listed.json.data.map((record: any) => record.response_id)
  assert.deepEqual(ids, ['msg_plain', null, 'msg_a'], 'ids of answers in threads alone')
})

test('a thread that no target can store is refused without an inference, and a translated call reports its thread as lost (STATE-02)', async (t) => {
  const gateway = await start(t, {
    dialects: { alpha: ['messages'], beta: ['chat'] },
    providers: { alpha: says('msg_a'), beta: undefined as never },
    config: `routes: { ${route('round-robin')}, far: { targets: [ { model: beta/m } ] }, strict: { on_loss: refuse, targets: [ { model: beta/m }, { model: alpha/m } ] } }`,
  })
  const refused = await ask(gateway, { ...CREATE, model: 'far' })
  assert.deepEqual(
    [refused.status, refused.json.error.details, gateway.received()],
    [400, { error_code: 'thread_unsupported_request', unsupported: ['model'] }, 0],
  )
  assert.equal((await ask(gateway, { thread: null, model: 'far' })).status, 200)
  assert.equal((await ask(gateway, { ...CREATE, model: 'strict' })).provider, 'alpha')
  assert.equal((await ask(gateway, CREATE)).provider, 'alpha')
  const far = await ask(gateway, CREATE)
  assert.deepEqual([far.provider, far.headers.get('x-gateway-lossy')], ['beta', 'betas, thread'])
  assert.equal((await ask(gateway, after(far.json.id))).json.error.details.error_code, 'thread_not_found')
})

test('a thread’s turns are neither answered from the cache nor stored in the cache (STATE-01)', async (t) => {
  const gateway = await start(t, { config: `cache: { enabled: true }\nroutes: { ${route('priority')} }` })
  for (const [more, uses] of [
    [CREATE, ['BYPASS', 'BYPASS']],
    [after('msg_a'), ['BYPASS', 'BYPASS']],
    [{}, ['MISS', 'HIT']],
  ] as const)
    for (const use of uses) assert.equal((await ask(gateway, more)).headers.get('x-gateway-cache'), use)
})

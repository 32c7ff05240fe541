// The parts of a conversation that stay with one provider: its stored answers, and reasoning that only this
// provider can read.
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { type TestContext, test } from 'node:test'
import type { Script } from '../../../mocks/test-upstream.ts'
import { type Setup, type TestGateway, temporaryDirectory, testGateway } from '../../test/test-gateway.ts'
import { samples as messages } from '../messages/test-samples.ts'
import { message, response } from './test-samples.ts'

const JSON_TYPE = { 'content-type': 'application/json' }
const BOTH = (strategy: string) =>
  `routes: { auto: { strategy: ${strategy}, targets: [ { model: alpha/m }, { model: beta/m } ] } }`

const start = (t: TestContext, setup: Setup) =>
  testGateway(t, {
    dialects: { alpha: ['responses', 'messages'], beta: ['responses', 'messages'] },
    ...setup,
  })

async function ask(
  { get }: TestGateway,
  more: object,
  headers: Record<string, string> = {},
  path = '/v1/responses',
) {
  const answer = await get(path, {
    method: 'POST',
    headers: { ...JSON_TYPE, ...headers },
    body: JSON.stringify({ model: 'auto', input: 'x', messages: [], ...more }),
  })
  return { ...answer, provider: answer.headers.get('x-gateway-provider') }
}

const whole =
  (id: string, more: object = {}): Script =>
  (res) =>
    res
      .writeHead(200, JSON_TYPE)
      .end(JSON.stringify(response('m', 'completed', { id, output: [message('x')], ...more })))
const fail =
  (status: number, code: string): Script =>
  (res) =>
    res.writeHead(status, JSON_TYPE).end(JSON.stringify({ error: { message: 'no', type: 't', code } }))

test('a request with previous_response_id is routed to the provider that stores the answer, even after a restart (RSP-06)', async (t) => {
  const data = temporaryDirectory(t)
  const setup = {
    data,
    config: BOTH('round-robin'),
    providers: { alpha: whole('resp_a'), beta: whole('resp_b', { store: true }) },
  }
  const gateway = await start(t, setup)
  const first = await ask(gateway, {})
  const second = await ask(gateway, {})
  assert.deepEqual([first.provider, second.provider], ['alpha', 'beta'])
  const goesOn = async (on: TestGateway) => {
    for (const [id, provider] of [
      ['resp_a', 'alpha'],
      ['resp_b', 'beta'],
      ['resp_a', 'alpha'],
    ] as const)
      assert.equal((await ask(on, { previous_response_id: id })).provider, provider)
  }
  await goesOn(gateway)
  await gateway.gateway.close()
  const again = await start(t, setup)
  await goesOn(again)
  assert.deepEqual(again.upstream.beta!.ledger.at(-1)!.json.previous_response_id, 'resp_b')

  again.upstream.alpha!.script = fail(503, 'down')
  const down = await ask(again, { previous_response_id: 'resp_a' })
  assert.deepEqual([down.status, down.provider], [503, 'alpha'], 'no other can serve it')
  const { decision } = await again.record(down.headers.get('x-gateway-request-id'))
  assert.deepEqual(decision.skipped, [{ target: 'beta/m', reason: 'the previous response is kept by alpha' }])
})

test('continuing an unstored answer, or another key’s answer, fails with previous_response_not_found (RSP-06, RSP-05)', async (t) => {
  const digest = (key: string) => `sha256:${createHash('sha256').update(key).digest('hex')}`
  const gateway = await start(t, {
    config: `${BOTH('priority')}
keys: [ { name: one, role: admin, digest: "${digest('k1')}" }, { name: two, digest: "${digest('k2')}" } ]`,
    providers: { alpha: whole('resp_a'), beta: whole('resp_b') },
  })
  const one = { authorization: 'Bearer k1' }
  await ask(gateway, {}, one)
  gateway.upstream.alpha!.script = whole('resp_unkept', { store: false })
  await ask(gateway, { store: false }, one)
  gateway.upstream.alpha!.script = whole(`resp_${'x'.repeat(300)}`)
  await ask(gateway, {}, one)
  const before = gateway.received()
  for (const [id, headers, more] of [
    ['resp_of_nobody', one, {}],
    ['resp_unkept', one, {}],
    [`resp_${'x'.repeat(300)}`, one, {}],
    ['resp_a', { authorization: 'Bearer k2' }, {}],
    ['resp_a', one, { model: 'beta/m' }],
  ] as const) {
    const { status, json } = await ask(gateway, { previous_response_id: id, ...more }, headers)
    assert.deepEqual(
      [status, json.error.code, json.error.param],
      [400, 'previous_response_not_found', 'previous_response_id'],
      id,
    )
  }
  assert.equal(gateway.received(), before)
  assert.equal((await ask(gateway, { previous_response_id: 'resp_a' }, one)).status, 200)
  const listed = await gateway.get('/api/usage/request-logs', { headers: one })
  assert.deepEqual(
    listed.json.data.map((record: any) => record.response_id),
    [null, null, null, 'resp_a'],
  )
})

const encrypted = { type: 'reasoning', id: 'rs_1', summary: [], encrypted_content: 'gAAA' }
const said = { type: 'message', role: 'user', content: 'go on' }

test('if encrypted reasoning is refused, one more attempt without it is made and recorded (RSP-14)', async (t) => {
  const gateway = await start(t, {
    config: `${BOTH('priority')}\nresilience: { cooldown: 0s }`,
    providers: {
      alpha: fail(503, 'down'),
      beta: (res, received) =>
        received.text.includes('gAAA')
          ? fail(400, 'invalid_encrypted_content')(res, received)
          : whole('resp_b')(res, received),
    },
  })
  const input = [said, encrypted, { ...said, n: 1 }]
  const answer = await ask(gateway, { input })
  assert.deepEqual([answer.status, answer.headers.get('x-gateway-attempts')], [200, '3'])
  assert.deepEqual(gateway.upstream.beta!.ledger.at(-1)!.json.input, [said, { ...said, n: 1 }])
  const { attempt_log, fallbacks, tokens } = await gateway.record(answer.headers.get('x-gateway-request-id'))
  assert.deepEqual(
    attempt_log.map((each: any) => [each.provider, each.outcome, each.status, each.error_code]),
    [
      ['alpha', 'failed', 503, 'down'],
      ['beta', 'failed', 400, 'invalid_encrypted_content'],
      ['beta', 'answered', 200, null],
    ],
  )
  assert.deepEqual([fallbacks, tokens.source], [1, null])
  assert.equal((await gateway.get('/api/cloud/model/resolve?model=auto')).json.candidates[1].state, 'ready')

  // The gateway tries once more, only after this kind of refusal, and only if something can be omitted.
  gateway.upstream.beta!.script = fail(400, 'invalid_encrypted_content')
  const before = gateway.upstream.beta!.ledger.length
  for (const [items, requests] of [
    [input, 2],
    [[said], 1],
    ['text', 1],
  ] as const) {
    const from = gateway.upstream.beta!.ledger.length
    const { status, json } = await ask(gateway, { model: 'beta/m', input: items })
    assert.deepEqual([status, json.error.code], [400, 'invalid_encrypted_content'])
    assert.equal(gateway.upstream.beta!.ledger.length - from, requests, JSON.stringify(items))
  }
  assert.equal(gateway.upstream.beta!.ledger.length - before, 4)
})

const thinking = { type: 'thinking', thinking: 'hm', signature: 'c2ln' }
const HISTORIES = {
  '/v1/responses': { input: [said, encrypted] },
  '/v1/messages': { messages: [{ role: 'assistant', content: [thinking] }] },
}
for (const [path, history] of Object.entries(HISTORIES))
  test(`${path}: a session stays at the target that produced its reasoning as long as that target is ready (DIAL-09)`, async (t) => {
    const answers: Script = (res, received) =>
      received.path.endsWith('/messages')
        ? void res.end(messages.answer('m', {}))
        : whole('resp_1')(res, received)
    const gateway = await start(t, {
      config: BOTH('round-robin'),
      providers: { alpha: answers, beta: answers },
    })
    const tools = [{ type: 'function', name: 'f' }]
    const headers = { 'session-id': 's' }
    const main = (more: object = {}) => ask(gateway, { tools, ...more }, headers, path)
    const home = (await main()).provider
    const causes = new Set<string>()
    for (let n = 0; n < 3; n++) {
      const { provider, headers: told } = await main(history)
      assert.equal(provider, home)
      causes.add((await gateway.record(told.get('x-gateway-request-id'))).decision.cause)
      // A compaction has the history but no tools. Titles and subagents are routed freely and do not move the
      // session.
      assert.equal((await ask(gateway, history, headers, path)).provider, home)
      await ask(gateway, {}, { ...headers, 'x-initiator': 'agent' }, path)
      await ask(gateway, { tools }, { ...headers, 'x-openai-subagent': 'x', 'thread-id': 'child' }, path)
    }
    assert.ok(causes.has('reasoning'), [...causes].join())
    const others = new Set<unknown>()
    for (let n = 0; n < 4; n++) others.add((await ask(gateway, { tools, ...history }, {}, path)).provider)
    assert.equal(others.size, 2, 'without a session nobody knows')

    gateway.upstream[home!]!.script = fail(503, 'down')
    const away = (await main(history)).provider
    assert.notEqual(away, home)
    gateway.upstream[home!]!.script = answers
    assert.equal((await main(history)).provider, away, 'now the reasoning of the other is in it')
  })

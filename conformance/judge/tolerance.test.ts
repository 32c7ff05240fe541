// Tests that doubt counts for the target: unusual but correct behaviour of other people's gateways must not
// fail. Each case was found in a real gateway.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { writeNonce } from '../../mocks/ledger.ts'
import { checks } from '../checks/registry.ts'
import type { Evidence, Exchange } from '../evidence/evidence.ts'
import { type Target, targetSchema } from '../target/schema.ts'

const target = (more: object = {}): Target =>
  targetSchema.parse({
    name: 'peer',
    start: { url: 'http://127.0.0.1:1' },
    providers: { openai: {} },
    models: { direct: [{ id: 'm', provider: 'openai', model: 'm' }] },
    ...more,
  })

const exchange = (more: Partial<Exchange>): Exchange => ({
  n: 1,
  step: 'call',
  details: {},
  nonce: null,
  request: { method: 'GET', path: '/', headers: {}, body: null },
  at: 0,
  head_at: 1,
  end_at: 2,
  end: 'complete',
  error: null,
  status: 200,
  headers: {},
  body: '',
  utf8: true,
  chunks: [],
  ...more,
})

const entry = (more: object): Evidence['ledger'][number] =>
  ({
    n: 1,
    kind: 'inference',
    at: 0,
    provider: 'openai',
    model: 'm',
    nonce: 'a',
    stream: false,
    problems: [],
    body: {},
    answer: {},
    ...more,
  }) as unknown as Evidence['ledger'][number]

function holds(id: string, evidence: Partial<Evidence>, of = target(), waybill = false): boolean {
  const whole = { exchanges: [], ledger: [], marks: {}, facts: {}, ...evidence } as unknown as Evidence
  return checks
    .get(id)!
    .judge({ evidence: whole, all: new Map(), target: of, waybill })
    .every(({ ok }) => ok)
}

test('a provider key that the client itself sent may reach the client (KEEP-01)', () => {
  const body = 'Incorrect API key: [secret:mock.openai.key]'
  const exchanges = [exchange({ step: 'a provider echoes a key', nonce: 'a', body })]
  const ledger = [entry({ kind: 'inference', answer: { status: 401 } })]
  const sent = target({ headers: { 'x-config': '{"api_key":"[secret:mock.openai.key]"}' } })
  assert.ok(holds('KEEP-01', { exchanges, ledger }, sent))
  assert.ok(!holds('KEEP-01', { exchanges, ledger }))
})

test('a valid key may lack permission for some reads, but not for all (KEEP-03)', () => {
  const read = (path: string, step: string, status: number) =>
    exchange({ step, status, request: { method: 'GET', path, headers: {}, body: null } })
  const models = [read('/models', 'wrong key', 401), read('/models', 'right key', 403)]
  const log = (status: number) => [read('/log', 'wrong key', 401), read('/log', 'right key', status)]
  assert.ok(holds('KEEP-03', { exchanges: [...models, ...log(200)] }))
  assert.ok(!holds('KEEP-03', { exchanges: [...models, ...log(403)] }))
  assert.ok(!holds('KEEP-03', { exchanges: [...models, ...log(401)] }))
  const other = (status: number) => read('/models', 'the other right key', status)
  assert.ok(holds('KEEP-03', { exchanges: [...models, other(200)] }))
  // Waybill is tested with a key of each role, and each path answers one of them.
  const waybill = (status: number) =>
    holds('KEEP-03', { exchanges: [...models, ...log(200), other(status)] }, target(), true)
  assert.ok(waybill(200))
  assert.ok(!waybill(403))
})

test('a catalog counts as unchanged if only its order and creation time differ (CAT-03)', () => {
  const list = (created: number, ...ids: string[]) =>
    JSON.stringify({ object: 'list', data: ids.map((id) => ({ id, object: 'model', created })) })
  const readings = (...bodies: string[]) => ({
    exchanges: bodies.map((body) => exchange({ step: 'catalog', body })),
  })
  assert.ok(holds('CAT-03', readings(list(1, 'a', 'b'), list(2, 'b', 'a'))))
  assert.ok(!holds('CAT-03', readings(list(1, 'a', 'b'), list(1, 'a'))))
  assert.ok(!holds('CAT-03', readings(list(1, 'a', 'b'), list(2, 'b', 'a')), target(), true))
})

test('a gateway may leave out only request members that are null (ROUTE-05)', () => {
  const messages = (second: object) => [{ role: 'user', content: writeNonce('0123456789abcdef') }, second]
  const call = { role: 'assistant', content: null, tool_calls: [] }
  const body = JSON.stringify({ model: 'm', messages: messages(call) })
  const exchanges = [exchange({ request: { method: 'POST', path: '/', headers: {}, body } })]
  const arrived = (second: object) => [
    entry({
      ...{ nonce: '0123456789abcdef', endpoint: 'chat/completions' },
      body: { messages: messages(second) },
    }),
  ]
  assert.ok(holds('ROUTE-05', { exchanges, ledger: arrived({ role: 'assistant', tool_calls: [] }) }))
  assert.ok(!holds('ROUTE-05', { exchanges, ledger: arrived({ role: 'assistant', content: null }) }))
})

test('a gateway that retries may take longer, but only by the duration of its retries (FAIL-05)', () => {
  const slow = target({ capabilities: { time_outs: { answer_ms: 1_000 }, retry_delay_ms: 2_000 } })
  const took = (end_at: number) => ({
    exchanges: [
      exchange({
        step: 'broken provider',
        details: { provider: 'silent', stream: false },
        nonce: 'a',
        status: 504,
        body: '{}',
        end_at,
      }),
    ],
    ledger: [entry({}), entry({ n: 2 })],
  })
  assert.ok(holds('FAIL-05', took(8_900), slow))
  assert.ok(!holds('FAIL-05', took(9_100), slow))
})

test('a stream may end with an error event if its headers were sent before the provider fell silent (FAIL-05)', () => {
  const slow = target({ capabilities: { time_outs: { first_event_ms: 1_000 } } })
  const streamed = (body: string) => ({
    exchanges: [
      exchange({ step: 'broken provider', details: { provider: 'silent', stream: true }, nonce: 'a', body }),
    ],
    ledger: [entry({})],
  })
  const error = '{"error":{"message":"the provider is silent"}}'
  assert.ok(holds('FAIL-05', streamed(`data: ${error}\n\n`), slow))
  assert.ok(!holds('FAIL-05', streamed(error), slow), 'a whole answer with 200 is no event')
  assert.ok(!holds('FAIL-05', streamed('data: [DONE]\n\n'), slow))
  assert.ok(!holds('FAIL-05', streamed(`data: ${error}\n\n`), slow, true))
})

test('a random router may resolve to a different target each time, but a rotating router may not (PURE-04)', () => {
  const resolving = target({
    models: { logical: [{ id: 'auto', targets: [{ provider: 'openai', model: 'a' }] }] },
    capabilities: { resolve: { path: '/resolve', provider: '/p', model: '/m' }, probe_interval_ms: 0 },
  })
  const told = (letters: string) => ({
    marks: { baseline_from: 0, baseline_to: 1, from: 2, to: 3 },
    exchanges: [
      exchange({ step: 'read' }),
      ...[...letters].map((m) =>
        exchange({ step: 'resolve', details: { id: 'auto' }, body: JSON.stringify({ p: 'openai', m }) }),
      ),
    ],
  })
  const drawn = 'abbabaaabbbabaabababbbaaabababbbabaabaabbbababbabaaabb'
  assert.ok(holds('PURE-04', told(drawn), resolving))
  assert.ok(holds('PURE-04', told('a'.repeat(54)), resolving))
  assert.ok(!holds('PURE-04', told('ab'.repeat(27)), resolving))
  assert.ok(!holds('PURE-04', told('aab'.repeat(18)), resolving))
  assert.ok(!holds('PURE-04', told('aabaabaaba'.repeat(6).slice(0, 54)), resolving), 'weights of 7 and 3')
  assert.ok(!holds('PURE-04', told(drawn.slice(1)), resolving), 'a row that was broken off proves nothing')
})

test('background traffic causes neither a failure nor a pass (PURE-01, PURE-03, PURE-07)', () => {
  const read = target({ capabilities: { read_paths: ['/read'] } })
  const marks = {
    baseline_from: 0,
    baseline_to: 9,
    from: 10,
    to: 19,
    second_baseline_from: 20,
    second_baseline_to: 29,
  }
  const exchanges = [
    exchange({ step: 'read', request: { method: 'GET', path: '/read', headers: {}, body: null } }),
  ]
  const doubted = (id: string, kind: string, ...times: number[]) => {
    const ledger = times.map((at) => entry({ kind, at, nonce: null }))
    const evidence = { exchanges, marks, ledger, facts: {} } as unknown as Evidence
    return checks
      .get(id)!
      .judge({ evidence, all: new Map(), target: read, waybill: false })
      .filter(({ ok }) => !ok)
      .map(({ doubt = false }) => doubt)
  }
  for (const id of ['PURE-01', 'PURE-03', 'PURE-07']) {
    assert.deepEqual(doubted(id, 'inference', 5), [], id)
    assert.deepEqual(doubted(id, 'inference', 5, 15, 25), [true], id)
    assert.deepEqual(doubted(id, 'inference', 15), [false], id)
  }
  assert.deepEqual(doubted('PURE-01', 'metadata', 5, 15), [])
  assert.deepEqual(doubted('PURE-03', 'metadata', 5, 15), [true])
})

test('if two targets are called at the same time, the one that answered counts as the serving target (TELL-01)', () => {
  const telling = target({ observability: { headers: { model: 'x-model' } } })
  const ledger = [
    entry({ answer: { status: 200 } }),
    entry({ n: 2, model: 'slower', answer: { status: null } }),
  ]
  const named = (model: string) => [exchange({ nonce: 'a', headers: { 'x-model': model } })]
  assert.ok(holds('TELL-01', { exchanges: named('m'), ledger }, telling))
  assert.ok(!holds('TELL-01', { exchanges: named('slower'), ledger }, telling))
})

test('a streamed call must move on to the next target even if its headers were sent before the provider failed (ROUTE-07)', () => {
  const moving = target({ capabilities: { fallback_statuses: [500] } })
  const failed = entry({ answer: { status: 500 } })
  const exchanges = [
    exchange({ step: 'the first target fails', details: { status: 500, stream: true }, nonce: 'a' }),
  ]
  assert.ok(holds('ROUTE-07', { exchanges, ledger: [failed, entry({ n: 2, model: 'other' })] }, moving))
  assert.ok(!holds('ROUTE-07', { exchanges, ledger: [failed] }, moving))
})

test('a record is compared only with facts known from outside, and fields missing from the target file are not required (LOG-02)', () => {
  const mapped = {
    id: '/id',
    model: '/model',
    cost: '/cost',
    strategy: '/by',
    input_tokens: '/in',
    session: '/s',
  }
  const log = { path: '/log', list: '', one: '/log/{id}', fields: mapped }
  const logging = target({ observability: { headers: { request_id: 'x-id' }, log } })
  const usage = { prompt_tokens: 7, completion_tokens: 2 }
  const recorded = (record: object, of = logging, waybill = false, headers = {}, model = 'm') => {
    const request = { method: 'POST', path: '/', headers, body: JSON.stringify({ model }) }
    const exchanges = [
      exchange({ nonce: 'a', request, headers: { 'x-id': '1' } }),
      exchange({
        n: 2,
        step: 'record',
        details: { of: 1 },
        body: JSON.stringify({ id: '1', model: 'm', in: 7, ...record }),
      }),
    ]
    const ledger = [entry({ endpoint: 'chat/completions', answer: { body: JSON.stringify({ usage }) } })]
    return holds('LOG-02', { exchanges, ledger }, of, waybill)
  }
  // A direct id has no strategy, its price is unknown, and a session could not be sent.
  assert.ok(recorded({ cost: null, by: null, s: 'made-up' }))
  assert.ok(recorded({ cost: 0 }))
  assert.ok(recorded({}), 'a cost that is left out is one that is not known')
  assert.ok(!recorded({ cost: -1 }))
  assert.ok(!recorded({ cost: 0, in: 8 }))
  assert.ok(!recorded({ cost: 1 }, logging, true), 'this interface has all fields')
  const inSession = {
    ...logging,
    capabilities: { ...logging.capabilities, session: { header: 'X-My-Session' } },
  }
  for (const header of ['X-My-Session', 'x-my-session']) {
    assert.ok(recorded({ s: 'one' }, inSession, false, { [header]: 'one' }))
    assert.ok(!recorded({ s: 'two' }, inSession, false, { [header]: 'one' }))
  }
  const tableOf = (...models: string[]) => {
    const targets = models.map((model) => ({ provider: 'openai', model }))
    return { ...logging, models: { direct: [], logical: [{ id: 'auto', targets }] } }
  }
  assert.ok(recorded({ by: null }, tableOf('m'), false, {}, 'auto'), 'one target is no choice')
  assert.ok(!recorded({ by: null }, tableOf('m', 'n'), false, {}, 'auto'))
  assert.ok(recorded({ by: 'priority' }, tableOf('m', 'n'), false, {}, 'auto'))
})

test("if one model's stream is held back, only this model's result is inconclusive (FLOW-09, MSG-14)", () => {
  const step = 'error after the response start'
  const cut = 'event: message_stop\ndata: {"type":"message_stop"}\n\n'
  const request = { method: 'POST', path: '/v1/messages', headers: {}, body: '{"stream":true}' }
  const of = (n: number, model: string) => ({
    ...{ n, step, details: { model }, nonce: 'a', request },
    body: cut,
  })
  const exchanges = [exchange(of(1, 'swift')), exchange(of(2, 'held'))]
  for (const id of ['FLOW-09', 'MSG-14']) {
    const evidence = { exchanges, ledger: [entry({})], marks: {}, facts: { 'held back #2': true } }
    const findings = checks.get(id)!.judge({
      ...{ evidence: evidence as unknown as Evidence, all: new Map(), target: target(), waybill: false },
    })
    assert.deepEqual(
      findings.map(({ ok, doubt = false }) => ({ ok, doubt })),
      [
        { ok: false, doubt: false },
        { ok: false, doubt: true },
      ],
      id,
    )
  }
})

test('a gateway that takes seconds to stop without an open stream may take as long with one (LIFE-02)', () => {
  const body = 'data: {"choices":[{"index":0,"delta":{"content":"onetwo"}}]}\n\ndata: [DONE]\n\n'
  const exchanges = [
    exchange({ n: 1, step: 'open', body }),
    exchange({ n: 2, step: 'new', status: 503 }),
    exchange({ n: 3, step: 'record of #1', body: '{"state":"completed"}' }),
  ]
  const stops = (idle: number, after: number) =>
    checks
      .get('LIFE-02')!
      .judge({
        evidence: {
          ...{ exchanges, ledger: [], facts: {} },
          marks: { idle_stop: 0, idle_stopped: idle, stream_end: 0, stopped: after },
        } as unknown as Evidence,
        ...{ all: new Map(), target: target(), waybill: true },
      })
      .find(({ id }) => id === 'ends-in-time')!.ok
  assert.deepEqual([stops(4_000, 9_000), stops(100, 9_000)], [true, false])
})

// The response cache (USE-08): hits and misses, the client's view of a hit, and its record. Over 250 lines,
// because it is a list of cases.

import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { test } from 'node:test'
import Database from 'better-sqlite3'
import {
  answer,
  chunk,
  DONE,
  fail,
  type Script,
  stream,
  streamed,
  USAGE,
  usageChunk,
} from '../../mocks/test-upstream.ts'
import { clock } from '../shared/clock.ts'
import { dated } from '../shared/test-clock.ts'
import { databaseFile } from '../store/sqlite/open.ts'
import { ask, sharedGateways, type TestGateway, testGateway } from '../test/test-gateway.ts'
import { until } from '../test/test-until.ts'

const sharedGateway = sharedGateways()

const PRICED = 'models: { alpha/model-a: { price: { input: 1, output: 10 } } }'
const ROUTES = 'routes: { auto: { targets: [ { model: alpha/model-a, tier: balanced } ] } }'
const ON = `cache: { enabled: true }\n${PRICED}\n${ROUTES}`

const wholeOrStream: Script = (response, received) =>
  (received.json.stream ? streamed('once ', 'upon') : answer('once upon'))(response, received)

/** Makes a call and returns the source of the answer. */
async function use(gateway: TestGateway, body: unknown, headers = {}) {
  const got = await gateway.chat(body, headers)
  return { ...got, id: got.headers.get('x-gateway-request-id'), cache: got.headers.get('x-gateway-cache') }
}

test('a cache hit gives the same answer, reaches no provider, costs 0, and is recorded with the saved cost (USE-08, LOG-01)', async (t) => {
  const gateway = await sharedGateway(t, { providers: { alpha: wholeOrStream }, config: ON })
  for (const stream of [false, true]) {
    const before = gateway.received()
    const first = await use(gateway, ask('auto', { stream }), { 'x-session-id': 's' })
    const again = await use(gateway, ask('auto', { stream }), { 'x-session-id': 's' })
    assert.deepEqual([first.cache, again.cache, gateway.received() - before], ['MISS', 'HIT', 1])
    assert.equal(again.text, first.text)
    assert.equal(again.headers.get('content-type'), first.headers.get('content-type'))
    assert.deepEqual(
      ['provider', 'model', 'strategy', 'attempts', 'session-id'].map((name) =>
        again.headers.get(`x-gateway-${name}`),
      ),
      ['alpha', 'model-a', 'priority', '0', 's'],
    )
    const [missed, hit] = [await gateway.record(first.id), await gateway.record(again.id)]
    const usd = (20 * 1 + 7 * 10) / 1e6
    assert.deepEqual(
      [missed.cache, missed.attempts, missed.cost_usd, missed.saved_usd],
      ['MISS', 1, usd, null],
    )
    assert.deepEqual([hit.cache, hit.attempts, hit.cost_usd, hit.saved_usd], ['HIT', 0, 0, usd])
    assert.deepEqual(
      [hit.state, hit.status, hit.tokens, hit.attempt_log, hit.response_model, hit.session_id],
      ['completed', 200, missed.tokens, [], 'model-a-2026-01-01', 's'],
    )
    assert.equal(typeof hit.ttft_ms, 'number')
  }
  const { json } = await gateway.get('/api/usage/request-logs')
  assert.equal(json.data.length, 4, 'one record each')
})

test('an answer without a content type is also returned from the cache without a content type (USE-08)', async (t) => {
  const gateway = await sharedGateway(t, {
    config: ON,
    providers: {
      alpha(response) {
        const json = JSON.stringify({ choices: [{ message: {}, finish_reason: 'stop' }], usage: USAGE })
        response.writeHead(200, { 'content-length': json.length }).end(json)
      },
    },
  })
  for (const expected of ['MISS', 'HIT']) {
    const { status, cache, headers } = await use(gateway, ask('auto', { seed: 1 }))
    assert.deepEqual([status, cache, headers.get('content-type')], [200, expected, null])
  }
})

test('a streamed hit includes usage if its client requested it, whether or not the stored call did (USE-03, USE-08)', async (t) => {
  for (const asksFirst of [true, false]) {
    const gateway = await sharedGateway(t, { providers: { alpha: streamed('a', 'b') }, config: ON })
    const call = async (include_usage: boolean) => {
      const got = await use(
        gateway,
        ask('auto', { stream: true, stream_options: { include_usage }, seed: asksFirst ? 2 : 3 }),
      )
      assert.match(
        got.text,
        /"content":"a"[\s\S]+"content":"b"[\s\S]+"finish_reason":"stop"[\s\S]+data: \[DONE\]\n\n$/,
      )
      assert.equal(got.text.includes('"usage"'), include_usage)
      return got.cache
    }
    assert.deepEqual(
      [await call(asksFirst), await call(!asksFirst), await call(asksFirst)],
      ['MISS', 'HIT', 'HIT'],
    )
    assert.equal(gateway.received(), 1)
  }
})

test('a request that differs only in the order of its members is a hit; whole and streamed answers, keys and targets are cached separately (USE-08, KEEP-04)', async (t) => {
  const digest = (key: string) => `sha256:${createHash('sha256').update(key).digest('hex')}`
  const keys = `keys: [ { name: ann, digest: "${digest('key-of-ann')}" }, { name: bob, digest: "${digest('key-of-bob')}" } ]`
  const gateway = await testGateway(t, { providers: { alpha: wholeOrStream }, config: `${ON}\n${keys}` })
  const call = async (body: string | object, who = 'ann') =>
    (await use(gateway, body, { authorization: `Bearer key-of-${who}` })).cache
  assert.equal(await call('{"model":"auto","messages":[{"role":"user","content":"x"}],"seed":1}'), 'MISS')
  assert.equal(
    await call('{"seed":1, "messages":[{"content":"x","role":"user"}], "model":"auto", "stream":false}'),
    'HIT',
  )
  for (const other of [
    '{"model":"auto","messages":[{"role":"user","content":"x"}],"seed":1,"stream":true}',
    '{"model":"auto","messages":[{"role":"user","content":"x"}],"seed":1.0}',
    '{"model":"auto","messages":[{"role":"user","content":"x"}],"seed":"1"}',
    '{"model":"auto","messages":[{"role":"user","content":"x"}]}',
    '{"model":"auto","messages":[{"role":"user","content":"x "}],"seed":1}',
    '{"model":"auto","messages":[{"role":"system","content":"x"}],"seed":1}',
    '{"model":"auto","messages":[{"role":"user","content":"x"}],"seed":1,"unknown":null}',
    '{"model":"alpha/model-a","messages":[{"role":"user","content":"x"}],"seed":1}',
    '{"model":"alpha/model-b","messages":[{"role":"user","content":"x"}],"seed":1}',
  ])
    assert.equal(await call(other), 'MISS', other)
  const mine = '{"model":"auto","messages":[{"role":"user","content":"x"}],"seed":1}'
  assert.equal(await call(mine, 'bob'), 'MISS')
  assert.equal(await call(mine, 'bob'), 'HIT')
  const doubled = '{"model":"auto","messages":[],"seed":1,"seed":2}'
  assert.deepEqual([await call(doubled), await call(doubled)], ['BYPASS', 'BYPASS'])
})

test('no-store neither reads nor writes the cache; a route or the default can disable the cache (USE-08)', async (t) => {
  const routes =
    'routes: { auto: { targets: [ { model: alpha/model-a } ] }, fresh: { cache: false, targets: [ { model: alpha/model-a } ] } }'
  const gateway = await testGateway(t, { config: `cache: { enabled: true }\n${routes}` })
  const call = async (model: string, headers = {}) => (await use(gateway, ask(model), headers)).cache
  const noStore = { 'cache-control': 'max-age=0, No-Store' }
  assert.deepEqual(
    [await call('auto', noStore), await call('auto'), await call('auto', noStore), await call('auto')],
    ['BYPASS', 'MISS', 'BYPASS', 'HIT'],
  )
  assert.deepEqual([await call('fresh'), await call('fresh')], ['BYPASS', 'BYPASS'])

  const off = await testGateway(t, {
    config:
      'routes: { auto: { targets: [ { model: alpha/m } ] }, kept: { cache: true, targets: [ { model: alpha/m } ] } }',
  })
  const caches = []
  for (const model of ['auto', 'auto', 'kept', 'kept', 'alpha/m', 'alpha/m'])
    caches.push((await use(off, ask(model))).cache)
  assert.deepEqual(caches, ['BYPASS', 'BYPASS', 'MISS', 'HIT', 'BYPASS', 'BYPASS'])
})

const finish = (reason: string) => chunk({}, { finish_reason: reason })
const NOT_KEPT: readonly [string, Script, boolean][] = [
  ['an error', fail(400), false],
  ['a stream that was cut', stream(chunk({ content: 'a' })), true],
  [
    'a stream with an error event',
    stream(chunk({ content: 'a' }), 'data: {"error":{"message":"x"}}\n\n', DONE),
    true,
  ],
  ['a stream without a finish reason', stream(chunk({ content: 'a' }), DONE), true],
  ['a filtered stream', stream(chunk({ content: 'a' }), finish('content_filter'), DONE), true],
  ['a stream cut off by its provider', stream(chunk({}), finish('insufficient_system_resource'), DONE), true],
  ['an answer of more than a sixteenth', answer('x'.repeat(70_000)), false],
  ['a stream of more than a sixteenth', streamed('x'.repeat(70_000)), true],
  [
    'a 202',
    (response) =>
      response
        .writeHead(202, { 'content-type': 'application/json' })
        .end('{"choices":[{"finish_reason":"stop"}]}'),
    false,
  ],
]
test('an answer that may differ next time, or is too large, is not cached (USE-08)', async (t) => {
  const gateway = await testGateway(t, {
    config: `cache: { enabled: true, max_bytes: 1MiB }\nresilience: { cooldown: 1ms }\n${ROUTES}`,
  })
  for (const [name, script, stream] of NOT_KEPT)
    await t.test(name, async () => {
      gateway.upstream.alpha!.script = script
      const before = gateway.received()
      for (let n = 1; n <= 2; n++) {
        const body = JSON.stringify(ask('auto', { stream }))
        const response = await fetch(`${gateway.url}/v1/chat/completions`, {
          method: 'POST',
          headers: { 'content-type': 'application/json' },
          body,
        })
        await response.text().catch(() => {}) // a cut stream cannot be read to the end
        assert.equal(response.headers.get('x-gateway-cache'), 'MISS')
        assert.equal(gateway.received() - before, n)
      }
    })
})

test('an answer whose client left is recorded as aborted and not cached (USE-08, LOG-06)', async (t) => {
  const gateway = await sharedGateway(t, {
    providers: { alpha: stream(chunk({ content: 'a' }), 60_000) },
    config: ON,
  })
  const leave = new AbortController()
  const response = await fetch(`${gateway.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(ask('auto', { stream: true, seed: 4 })),
    signal: leave.signal,
  })
  await response.body!.getReader().read()
  leave.abort()
  const left = await gateway.record(response.headers.get('x-gateway-request-id'))
  assert.deepEqual(
    [left.state, left.status, left.error_code, left.attempt_log[0].outcome],
    ['aborted', 499, 'client_closed', 'aborted'],
  )
  gateway.upstream.alpha!.script = stream(
    chunk({ content: 'b' }),
    finish('stop'),
    usageChunk({ usage: USAGE }),
    DONE,
  )
  const next = await use(gateway, ask('auto', { stream: true, seed: 4 }))
  assert.deepEqual([next.cache, next.text.includes('"b"')], ['MISS', true])
})

test('after a fallback, the answer is cached for the target that gave it (USE-08)', async (t) => {
  const gateway = await testGateway(t, {
    providers: { alpha: fail(503), beta: answer('from beta') },
    config:
      'cache: { enabled: true }\nroutes: { auto: { targets: [ { model: alpha/m }, { model: beta/m } ] } }',
  })
  const call = async () => {
    const { cache, headers } = await use(gateway, ask('auto'))
    return [cache, headers.get('x-gateway-provider')]
  }
  assert.deepEqual(await call(), ['MISS', 'beta'])
  assert.deepEqual(await call(), ['HIT', 'beta'], 'alpha cools down, so beta is the pick')
  assert.equal(gateway.received(), 2)
})

test('each target has its own cached answers (USE-08)', async (t) => {
  const gateway = await testGateway(t, {
    providers: { alpha: answer('from alpha'), beta: answer('from beta') },
    config:
      'cache: { enabled: true }\nroutes: { auto: { strategy: round-robin, targets: [ { model: alpha/m }, { model: beta/m } ] } }',
  })
  for (const [cache, provider] of [
    ['MISS', 'alpha'],
    ['MISS', 'beta'],
    ['HIT', 'alpha'],
    ['HIT', 'beta'],
  ]) {
    const got = await use(gateway, ask('auto'))
    assert.deepEqual([got.cache, got.headers.get('x-gateway-provider')], [cache, provider])
    assert.match(got.text, new RegExp(`from ${provider}`))
  }
})

test('an answer stays in the cache only until it expires, and the size of the cache is bounded (USE-08)', async (t) => {
  let time = clock.now()
  const gateway = await testGateway(t, {
    providers: { alpha: answer('x'.repeat(50_000)) },
    config: `cache: { enabled: true, ttl: 10m, max_bytes: 1MiB }\n${ROUTES}`,
    clock: dated(() => time),
  })
  const call = async (seed: number) => (await use(gateway, ask('auto', { seed }))).cache
  assert.deepEqual([await call(0), await call(0)], ['MISS', 'HIT'])
  time += 9 * 60_000
  assert.equal(await call(0), 'HIT')
  time += 2 * 60_000
  assert.equal(await call(0), 'MISS')
  for (let seed = 1; seed < 30; seed++) await call(seed)
  assert.deepEqual([await call(29), await call(0)], ['HIT', 'MISS'], '20 of them fit')
})

test('a cache hit whose client leaves midway is recorded as aborted, and costs 0 (LOG-06)', async (t) => {
  const gateway = await testGateway(t, {
    providers: { alpha: answer('x'.repeat(30 * 2 ** 20)) },
    config: `cache: { enabled: true, max_bytes: 1GiB }\n${ROUTES}`,
  })
  await use(gateway, ask('auto'))
  const leave = new AbortController()
  const response = await fetch(`${gateway.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(ask('auto')),
    signal: leave.signal,
  })
  assert.equal(response.headers.get('x-gateway-cache'), 'HIT')
  leave.abort()
  const record = await gateway.record(response.headers.get('x-gateway-request-id'))
  assert.deepEqual([record.state, record.status, record.cost_usd, record.attempts], ['aborted', 499, 0, 0])
})

test('a cache hit that cannot be recorded is refused like any call (LOG-01)', async (t) => {
  const gateway = await testGateway(t, { config: ON })
  await use(gateway, ask('auto'))
  const other = new Database(databaseFile(gateway.data))
  other.exec(`CREATE TRIGGER full BEFORE INSERT ON call_logs BEGIN SELECT RAISE(FAIL, 'disk full'); END`)
  const { status, json } = await use(gateway, ask('auto'))
  assert.deepEqual([status, json.error.code], [503, 'log_unavailable'])
  other.exec('DROP TRIGGER full')
  other.close()
  // After a failed write, writing is retried before calls are accepted again.
  await until('ready again', async () => (await gateway.get('/readyz')).status === 200)
  assert.equal((await use(gateway, ask('auto'))).cache, 'HIT')
  assert.equal(gateway.received(), 1)
})

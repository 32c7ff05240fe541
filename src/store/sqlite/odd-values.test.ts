// LOG-01, LOG-07: for any values from a provider, the call is recorded and closed, and the gateway stays ready. Over
// 250 lines, because it is a list of unusual answers.
import assert from 'node:assert/strict'
import { readFileSync, statSync } from 'node:fs'
import { test } from 'node:test'
import { promisify } from 'node:util'
import Database from 'better-sqlite3'
import { DONE, fail, type Script, stream } from '../../../mocks/test-upstream.ts'
import { emptyCall, idOf } from '../../core/call.ts'
import { SILENT } from '../../core/process-log.ts'
import { seeded } from '../../shared/chance.ts'
import { clock } from '../../shared/clock.ts'
import { ask, temporaryDirectory, testGateway } from '../../test/test-gateway.ts'
import { processorMs } from '../../test/test-processor-time.ts'
import { IS_FULL, sample } from '../../test/test-size.ts'
import { pause } from '../../test/test-until.ts'
import { databaseFile } from './open.ts'
import { openStore } from './open-store.ts'
import { checkReferences, checkRollUps } from './test-database.ts'

/** An answer with status 200 and this text as its body. */
const body =
  (text: string): Script =>
  (response) => {
    response.writeHead(200, { 'content-type': 'application/json' })
    response.end(text)
  }
const CHOICES = '"choices":[{"index":0,"message":{"role":"assistant","content":"x"},"finish_reason":"stop"}]'
const coded = (code: string, type = '"t"') => body(`{"error":{"message":"x","code":${code},"type":${type}}}`)

/** Numbers and strings in unusual spellings that a provider may use. */
const NUMBERS = [
  '429.5',
  '500.000001',
  '1e999',
  '-1e999',
  '1e20',
  '-1',
  '0',
  '9007199254740993',
  '599.9',
  '1e-300',
]
const TEXTS = [
  '"a\\u0000b"',
  '"\\ud800"',
  '"\\udc00x"',
  '""',
  JSON.stringify('é'.repeat(300)),
  '" "',
  '"\\u001b[2J"',
]
const OTHERS = ['null', 'true', '{}', '[429]', '{"a":1}']

const ANSWERS: readonly (readonly [what: string, script: Script])[] = [
  ...[...NUMBERS, ...TEXTS, ...OTHERS].flatMap((value): [string, Script][] => [
    [`error code ${value} in a 200`, coded(value)],
    [`error type ${value} in a 200`, coded('null', value)],
    [`error code ${value} with a 500`, (r) => fail(500, {}, { code: JSON.parse(value) })(r, {} as never)],
    [`error code ${value} with a 400`, (r) => fail(400, {}, { code: JSON.parse(value) })(r, {} as never)],
    [
      `model ${value}`,
      body(`{"model":${value},${CHOICES},"usage":{"prompt_tokens":1,"completion_tokens":1}}`),
    ],
    [
      `usage ${value}`,
      body(
        `{"model":"m",${CHOICES},"usage":{"prompt_tokens":${value},"completion_tokens":${value},"prompt_tokens_details":{"cached_tokens":${value}}}}`,
      ),
    ],
    [
      `an error with code ${value} in a stream`,
      stream(
        `data: {"model":"m","choices":[{"index":0,"delta":{"content":"x"}}]}\n\n`,
        `data: {"error":{"message":"x","code":${value}}}\n\n`,
        DONE,
      ),
    ],
  ]),
]

test('no value from a provider prevents a call from being closed or the gateway from being ready (LOG-01)', async (t) => {
  const gateway = await testGateway(t, { config: `${AUTO}\nresilience: { cooldown: 1ms }` })
  for (const [what, script] of sample(ANSWERS, 2)) {
    gateway.upstream.alpha!.script = script
    const { headers } = await gateway.chat(ask('auto', { stream: what.includes('stream') }))
    const record = await gateway.record(headers.get('x-gateway-request-id')).catch(() => assert.fail(what))
    assert.ok(['completed', 'failed'].includes(record.state), what)
    assert.equal((await gateway.get('/readyz')).status, 200, what)
  }
  await gateway.gateway.close()
  const db = new Database(databaseFile(gateway.data))
  checkReferences(db)
  checkRollUps(db)
  db.close()
})

const AUTO = 'routes: { auto: { targets: [ { model: alpha/model-a, tier: balanced } ] } }'

test('a record that the table refuses is stored in a reduced form, and does not delay other writes (LOG-01)', async (t) => {
  const gateway = await testGateway(t)
  const other = new Database(databaseFile(gateway.data))
  t.after(() => other.close())
  for (const column of ['response_model', 'tokens_input', 'status'])
    other.exec(`CREATE TRIGGER picky_${column} BEFORE UPDATE ON call_logs WHEN NEW.${column} IS NOT NULL
      BEGIN SELECT RAISE(ABORT, 'a value that is refused'); END`)
  const answers = await Promise.all(Array.from({ length: 8 }, () => gateway.chat(ask('auto'))))
  for (const { status, headers } of answers) {
    assert.equal(status, 200)
    const record = await gateway.record(headers.get('x-gateway-request-id'))
    assert.deepEqual(
      [record.state, record.resolved_model, record.attempts, record.response_model, record.status],
      ['completed', 'model-a', 1, null, null],
    )
  }
  assert.equal((await gateway.get('/readyz')).status, 200)
})

test("a provider's texts are shortened before they are stored, and their secrets are masked first (KEEP-02)", async (t) => {
  const gateway = await testGateway(t)
  const secret = 'sk-alpha-secret'
  const long = 'm'.repeat(4 * 2 ** 20)
  for (const model of [
    long,
    `${'m'.repeat(250)}${secret}`,
    `${'m'.repeat(4090)}${secret}`,
    '\u{1f600}'.repeat(400),
  ]) {
    gateway.upstream.alpha!.script = body(`{"model":${JSON.stringify(model)},${CHOICES}}`)
    const { headers } = await gateway.chat(ask('auto'))
    const record = await gateway.record(headers.get('x-gateway-request-id'))
    assert.ok(record.response_model.length <= 256, `${record.response_model.length} characters`)
    assert.ok(record.response_model.isWellFormed())
    assert.doesNotMatch(record.response_model, /sk-alp/)
    const artifact = await gateway.get(`/api/usage/request-logs/${record.id}/artifact`)
    assert.ok(artifact.text.length < 100_000)
  }
  assert.ok(statSync(`${databaseFile(gateway.data)}-wal`).size < 2 ** 20)
})

test('a key that a provider writes into a usage reaches no record, export, log or file (KEEP-01)', async (t) => {
  const KEY = 'sk-alpha-secret'
  const logged: unknown[] = []
  const note = (...entry: unknown[]) => void logged.push(entry)
  const gateway = await testGateway(t, {
    dialects: { alpha: ['chat', 'messages', 'gemini', 'responses'] },
    options: { log: { ...SILENT, info: note, warn: note, error: note } },
  })
  const counts = `"input_tokens":1,"output_tokens":1,"prompt_tokens":1,"completion_tokens":1`
  const claude = (usage: string) =>
    `{"type":"message","model":"m","content":[],"stop_reason":"end_turn","usage":{${counts},${usage}}}`
  const gemini = `{"candidates":[{"finishReason":"STOP"}],"usageMetadata":{"promptTokenCount":1,"trafficType":"${KEY}","${KEY}":4}}`
  const whole = (path: string, text: string) => [path, text] as const
  for (const [path, text] of [
    ...[
      `"service_tier":"${KEY}",${CHOICES},"usage":{${counts}}`,
      `${CHOICES},"usage":{${counts},"${KEY}":3}`,
    ].map((more) => whole('/v1/chat/completions', `{"model":"m",${more}}`)),
    ...[
      `"odd":"${KEY}"`,
      `"prompt_tokens_details":{"${KEY}":3}`,
      `"odd":{"a":["\\u0073${KEY.slice(1)}"]}`,
    ].map((usage) => whole('/v1/chat/completions', `{"model":"m",${CHOICES},"usage":{${counts},${usage}}}`)),
    ...[
      `"service_tier":"${KEY}","speed":"${KEY}","inference_geo":"${KEY}"`,
      `"server_tool_use":{"${KEY}":2}`,
      `"iterations":[{"type":"${KEY}","model":"${KEY}","input_tokens":1,"output_tokens":1},{"type":"message","input_tokens":1,"output_tokens":1}]`,
      `"service_tier":"${'x'.repeat(50)}${KEY}"`,
    ].map((usage) => whole('/v1/messages', claude(usage))),
    whole('/v1/messages', claude('"odd":1').replace('"content"', `"container":{"id":"${KEY}"},"content"`)),
    whole('/v1beta/models/auto:generateContent', gemini),
    whole(
      '/v1/responses',
      `{"status":"completed","model":"m","output":[],"service_tier":"${KEY}","usage":{${counts}}}`,
    ),
  ]) {
    gateway.upstream.alpha!.script = body(text)
    const request = { ...ask('auto'), input: 'x', max_tokens: 9, contents: [{ parts: [{ text: 'x' }] }] }
    const { status, headers } = await gateway.get(path, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(request),
    })
    assert.equal(status, 200, text)
    assert.match(
      JSON.stringify(await gateway.record(headers.get('x-gateway-request-id'))),
      /\*\*\*|too_long/,
      text,
    )
  }
  for (const path of [
    'request-logs',
    'export',
    'export?form=json',
    'export?form=focus',
    'history?bucket=all',
  ])
    assert.ok(!(await gateway.get(`/api/usage/${path}`)).text.includes(KEY), path)
  await gateway.gateway.close()
  assert.ok(!readFileSync(databaseFile(gateway.data)).includes(KEY))
  assert.ok(!JSON.stringify(logged).includes(KEY))
})

test('an answer with many brackets does not delay other calls', async (t) => {
  const gateway = await testGateway(t, {
    config: `${AUTO}\nresilience: { cooldown: 1ms }`,
  })
  const deep = '['.repeat(5e6)
  const shapes = [deep, `${deep}${']'.repeat(5e6)}`, `[${'[],'.repeat(3.3e6)}[]]`, '{"a":'.repeat(2e6)]
  const asked = shapes.flatMap((text) =>
    [body(text), body(`{"x":${text},${CHOICES}}`), stream(`data: ${text}\n\n`, DONE)].map((script) => ({
      text,
      script,
    })),
  )
  for (const { text, script } of sample(asked, 2)) {
    gateway.upstream.alpha!.script = script
    const call = gateway.chat(ask('auto', { stream: true }))
    let longest = 0
    let over = false
    void call.finally(() => {
      over = true
    })
    for (let before = processorMs(); !over; before = processorMs()) {
      await pause(5)
      longest = Math.max(longest, processorMs() - before)
    }
    await call
    assert.ok(longest < 700, `${Math.round(longest)} ms, ${text.slice(0, 10)}`)
  }
})

test('all values that a provider sends are written, and the next write succeeds too (LOG-01, LOG-07)', async (t) => {
  const seed = Number(process.env.WAYBILL_VALUES_SEED ?? clock.now() % 2 ** 32)
  t.diagnostic(`WAYBILL_VALUES_SEED=${seed}`)
  const random = seeded(seed)
  const one = <T>(list: readonly T[]): T => list[Math.floor(random() * list.length)]!
  const odd = (): any =>
    one<() => unknown>([
      () =>
        one([
          Number.NaN,
          Infinity,
          -Infinity,
          1.5,
          -1,
          -0,
          2 ** 53,
          2 ** 64,
          1e308,
          429.5,
          Math.floor(random() * 1e6),
        ]),
      () => one(['\0', 'a\0b', '\ud800', '', 'x'.repeat(1e6), 'ü'.repeat(500), 'ok']),
      () =>
        one([
          null,
          undefined,
          true,
          {},
          [],
          [1],
          { a: 1 },
          2n ** 70n,
          Symbol('s'),
          () => 1,
          new Date(Number.NaN),
        ]),
      () => one([200, 404, 7, 'e500', null]),
    ])()
  const failures: string[] = []
  const directory = temporaryDirectory(t)
  const store = await openStore({
    directory,
    durability: 'process',
    retention: { rows: 1_000_000, days: 30, bytes: 2 ** 30 },
    artifacts: { keep: 0, bytes: 0 },
    onFailure: (why) => failures.push(why),
  })
  t.after(() => store.close(10))
  const target = { provider: 'p', model: 'm', tier: null, weight: 1 }
  const sane = {
    source: 'reported',
    input: 1,
    output: 1,
    cached_input: 0,
    cache_write: 0,
    reasoning: 0,
  } as const
  const maybe = <T>(value: T): T => (random() < 0.3 ? odd() : value)
  const tokens = () =>
    random() < 0.2
      ? odd()
      : Object.fromEntries(Object.entries(sane).map(([name, count]) => [name, maybe(count)]))
  const cost = () => ({ usd: maybe(0.5), missing: [], price: maybe(null) })
  const ended = (n: number) => ({
    ...{
      n,
      target,
      outcome: 'failed' as const,
      status: maybe(500),
      errorCode: maybe('e500'),
      tokens: tokens(),
    },
  })
  const ids: string[] = []
  const pending: Promise<void>[] = []
  for (let n = 0; n < (IS_FULL ? 400 : 150); n++) {
    const at = clock.now()
    const call = { ...emptyCall(idOf(at)), requestedModel: 'auto', keyName: 'ann' }
    ids.push(call.id)
    const decision = { cause: 'priority', skipped: [] }
    await promisify(store.open)({
      kind: 'open',
      call,
      route: { name: 'auto', strategy: 'priority', candidates: [target], decision },
    })
    const next: Parameters<typeof store.write>[0] = {
      ...{
        kind: 'next',
        id: call.id,
        at,
        ended: ended(1),
        cost: cost(),
        target,
        fallbacks: 1,
        requestsSent: 1,
      },
    }
    await store.write(next)
    const outcome = {
      ...{
        state: 'failed' as const,
        status: maybe(500),
        errorCode: maybe('e500'),
        responseModel: maybe('m'),
      },
      ...{ latencyMs: maybe(1), ttftMs: maybe(1), tokens: tokens() },
    }
    pending.push(
      store.write({ kind: 'streaming', id: call.id, ttftMs: maybe(1) }),
      store.write({
        ...{ kind: 'close', id: call.id, at, requestsSent: 2, fallbacks: 1, target, cost: cost() },
        ...{ ended: ended(2), outcome },
      }),
    )
  }
  await Promise.race([
    Promise.all(pending),
    pause(30_000).then(() => assert.fail(`not all is written: ${store.failure}`)),
  ])
  assert.deepEqual(failures, [])
  assert.equal(store.failure, null)
  await store.close()
  const db = new Database(databaseFile(directory))
  t.after(() => db.close())
  const rows = db.prepare<[], any>('SELECT * FROM call_logs ORDER BY id').all()
  assert.deepEqual(rows.map(({ id }) => id).sort(), ids.sort())
  for (const row of rows) assert.equal(row.state, 'failed')
  for (const row of [...rows, ...db.prepare<[], any>('SELECT * FROM call_attempts').all()])
    for (const [name, value] of Object.entries(row)) {
      if (typeof value === 'string') {
        assert.ok(value.length <= 256, `${name} is ${value.length} long`)
        assert.ok(!value.includes('\0'), name)
      } else if (typeof value === 'number')
        assert.ok(Number.isFinite(value) && value >= 0, `${name} ${value}`)
    }
  assert.equal(db.prepare(`SELECT count(*) FROM call_attempts WHERE outcome <> 'failed'`).pluck().get(), 0)
  checkReferences(db)
  checkRollUps(db)
})

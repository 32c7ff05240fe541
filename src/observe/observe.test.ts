// The gateway's reports about itself: metrics that agree with the record, and log lines that no name can
// break.

import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { test } from 'node:test'
import { answer, chunk, fail, stream, streamed } from '../../mocks/test-upstream.ts'
import { openLog } from '../commands/process-log.ts'
import { ask, type TestGateway, TWO_TARGETS, testGateway } from '../test/test-gateway.ts'
import { until } from '../test/test-until.ts'

/** Returns the samples in Prometheus' text format, by name{labels}. */
async function samples(gateway: TestGateway): Promise<Map<string, number>> {
  const { text } = await gateway.get('/metrics')
  const lines = text.split('\n').filter((line) => line && !line.startsWith('#'))
  return new Map(
    lines.map((line) => [line.slice(0, line.lastIndexOf(' ')), Number(line.slice(line.lastIndexOf(' ')))]),
  )
}

/** Sums the samples of one name that have all of `labels`. */
const sum = (all: Map<string, number>, name: string, ...labels: string[]): number =>
  [...all].reduce(
    (total, [key, value]) =>
      key.replace(/\{.*/, '') === name && labels.every((label) => key.includes(label))
        ? total + value
        : total,
    0,
  )

const round = (usd: number): number => Math.round(usd * 1e9) / 1e9

test('after a mixed run, the metrics agree with the request log, and no session, key or unknown model is a label (LOG-10)', async (t) => {
  let turn = 0
  const gateway = await testGateway(t, {
    providers: {
      alpha: (response, received) => {
        const scripts = [
          answer(),
          fail(500),
          streamed('a', 'b'),
          fail(400),
          stream(chunk({ content: 'x' })),
          answer('no usage', null),
        ]
        scripts[turn++ % scripts.length]!(response, received)
      },
      beta: answer(),
    },
    config: `${TWO_TARGETS}\nmodels: { alpha/model-a: { price: { input: 2, output: 8 } } }\nresilience: { cooldown: 0ms }`,
  })
  for (let i = 0; i < 36; i++) {
    const model = i % 3 === 0 ? 'alpha/invented-by-a-client' : 'auto'
    await gateway
      .chat(ask(model, { stream: i % 2 === 0 }), { 'x-session-id': `session-${i}` })
      .catch(() => {})
  }
  await gateway.chat('{')
  await gateway.chat(ask('nowhere'))
  await gateway.chat(ask('nobody/knows'))
  const records: any[] = await until('all calls have ended', async () => {
    const { data } = (await gateway.get('/api/usage/request-logs?limit=200')).json
    return data.every(({ completed_at }: any) => completed_at) && data
  })
  const full = await Promise.all(
    records.map(async ({ id }) => (await gateway.get(`/api/usage/request-logs/${id}`)).json),
  )
  const all = await samples(gateway)
  assert.equal(records.length, 36)
  for (const state of ['completed', 'failed', 'aborted'])
    assert.equal(
      sum(all, 'waybill_calls_total', `state="${state}"`),
      records.filter((r) => r.state === state).length,
      state,
    )
  assert.ok(
    records.some((r) => r.state === 'failed') && records.some((r) => r.fallbacks > 0),
    'the run was mixed',
  )
  const attempts = full.flatMap((record) => record.attempt_log)
  for (const outcome of ['answered', 'failed', 'not_sent', 'unknown', 'aborted', 'timed_out'])
    assert.equal(
      sum(all, 'waybill_attempts_total', `outcome="${outcome}"`),
      attempts.filter((attempt) => attempt.outcome === outcome).length,
      outcome,
    )
  assert.equal(
    sum(all, 'waybill_fallbacks_total'),
    records.reduce((total, r) => total + r.fallbacks, 0),
  )
  for (const kind of ['input', 'output'])
    assert.equal(
      sum(all, 'waybill_tokens_total', `kind="${kind}"`),
      records.reduce((total, r) => total + r.tokens[kind], 0),
    )
  assert.equal(
    round(sum(all, 'waybill_cost_usd_total')),
    round(records.reduce((total, r) => total + r.cost_usd, 0)),
  )
  assert.ok(sum(all, 'waybill_cost_usd_total') > 0)
  assert.equal(
    sum(all, 'waybill_calls_without_cost_total'),
    records.filter((r) => r.cost_usd === null).length,
  )
  assert.equal(sum(all, 'waybill_latency_seconds_count'), 36)
  assert.equal(
    sum(all, 'waybill_first_token_seconds_count'),
    records.filter((r) => r.stream && r.ttft_ms !== null).length,
  )
  assert.equal(sum(all, 'waybill_record_write_seconds_count'), attempts.length)
  assert.equal(sum(all, 'waybill_open_calls'), 0)
  assert.equal(sum(all, 'waybill_refused_calls_total', 'code="invalid_json"'), 1)
  assert.equal(sum(all, 'waybill_refused_calls_total', 'code="model_not_found"'), 2)
  assert.equal(sum(all, 'waybill_refused_calls_total'), 3)
  assert.equal(sum(all, 'waybill_configuration_current'), 1)
  const text = [...all.keys()].join('\n')
  assert.doesNotMatch(text, /session|invented|secret|key/)
  assert.match(text, /waybill_calls_total\{provider="alpha",model="other",route="",strategy="direct"/)
})

test('the metrics show a target in cooldown, and reading them reaches no provider (PURE-01)', async (t) => {
  const gateway = await testGateway(t, {
    providers: { alpha: fail(500), beta: answer() },
    config: TWO_TARGETS,
  })
  assert.equal(sum(await samples(gateway), 'waybill_target_cooling'), 0)
  await gateway.chat(ask('auto'))
  const all = await samples(gateway)
  assert.equal(sum(all, 'waybill_target_cooling', 'provider="alpha"'), 1)
  assert.equal(sum(all, 'waybill_target_cooling', 'provider="beta"'), 0)
  assert.equal(gateway.received(), 2)
})

test('a client key cannot read the metrics, because they are totals over all keys (KEEP-04)', async (t) => {
  const digest = (key: string) => `sha256:${createHash('sha256').update(key).digest('hex')}`
  const gateway = await testGateway(t, {
    config: `keys: [ { name: ann, digest: "${digest('key-of-ann')}" }, { name: boss, role: admin, digest: "${digest('key-of-boss')}" } ]`,
  })
  const status = async (key: string | null) => {
    const { status, json } = await gateway.get('/metrics', { headers: key ? { 'x-api-key': key } : {} })
    return [status, json?.error.code]
  }
  assert.deepEqual(await status(null), [401, 'invalid_api_key'])
  assert.deepEqual(await status('key-of-ann'), [403, 'forbidden'])
  assert.deepEqual(await status('key-of-boss'), [200, undefined])
})

/**
 * A hostile name with line feeds, a terminal title, colours, a C1 control, right-to-left text and an end of
 * JSON.
 */
const HOSTILE = 'x\n{"level":"error"}\r\u001b]0;owned\u0007\u001b[31m\u009b2J\u202e"},\u2028\u0000end'

for (const pretty of [false, true])
  test(`hostile names cannot break a log line or control a terminal, ${pretty ? 'for a person' : 'as JSON'} (TELL-06)`, async (t) => {
    let written = ''
    const stream = {
      write(text: string) {
        written += text
      },
    }
    const { log } = await openLog('debug', { pretty, colour: false, stream })
    const gateway = await testGateway(t, {
      providers: { alpha: fail(400, {}, { code: 'bad code\u001b[31m' }) },
      config:
        'routes: { auto: { targets: [ { model: "alpha/m\u202e\\u2028" } ] } }\ndefaults: { chat: auto }',
      options: { log },
    })
    const { status } = await gateway.chat(ask(HOSTILE, { prompt_cache_key: `s${HOSTILE}` }), {
      'x-session-id': 'caf\u00e9\u0085\u009b2J',
    })
    assert.equal(status, 400)
    await until('both lines are written', () => written.split('\n').length >= 3)
    assert.doesNotMatch(written.replaceAll('\n', ''), /[\p{C}\p{Zl}\p{Zp}]/u)
    const lines = written.trimEnd().split('\n')
    assert.equal(lines.length, 2, written)
    for (const line of lines)
      assert.match(line, pretty ? /^\[[\d:]+\] (INFO: x|DEBUG: call)/ : /^\{"level":"(info|debug)",.+\}$/)
    if (!pretty)
      for (const line of lines) assert.match(JSON.parse(line).requested_model, /^x\{"level":"error"\}/)
    assert.match(written, /owned/, 'what can be read of a name is kept')
  })

const FAILURES: Readonly<Record<string, () => unknown>> = {
  throws() {
    throw new Error('the disk of the log is full')
  },
  'throws null'() {
    throw null
  },
  rejects: () => Promise.reject(new Error('the disk of the log is full')),
}

for (const [name, fail] of Object.entries(FAILURES))
  for (const isWhole of [false, true])
    test(`a call is answered, its record closed, and the lost entry is counted if the process log ${name} at ${isWhole ? 'every' : 'one'} level (LOG-01)`, async (t) => {
      const said: string[] = []
      const say = (_: object, message: string) => void said.push(message)
      const failing = (_: object, message: string) => {
        said.push(message)
        return fail()
      }
      const log = { error: isWhole ? failing : say, warn() {}, info: failing, debug() {} }
      const gateway = await testGateway(t, { options: { log } })
      const { status, headers } = await gateway.chat(ask('auto'))
      assert.equal(status, 200)
      assert.equal((await gateway.record(headers.get('x-gateway-request-id'))).state, 'completed')
      await until('the loss is logged', () => said.length >= 2)
      assert.deepEqual(said, ['call', 'an entry of the process log was lost'])
      const metrics = await samples(gateway)
      assert.equal(sum(metrics, 'waybill_calls_total'), 1, 'the other listeners are still informed')
      assert.equal(sum(metrics, 'waybill_internal_errors_total'), 1)
      const { findings } = (await gateway.get('/api/health')).json
      assert.match(JSON.stringify(findings), /the gateway itself failed 1 times/)
    })

// The known part of a call's cost is in the record and in every sum, and the missing parts are named.
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { test } from 'node:test'
import { answer, chunk, DONE, type Script, stream, usageChunk } from '../../mocks/test-upstream.ts'
import { manualClock } from '../shared/test-clock.ts'
import { ask, type TestGateway, testGateway } from '../test/test-gateway.ts'
import { until } from '../test/test-until.ts'

const CONFIG = `
models:
  alpha/model-a: { price: { input: 100, output: 100 } }
  beta/model-b: { price: { input: 1, output: 10 } }
routes: { auto: { targets: [ { model: alpha/model-a }, { model: beta/model-b } ] } }
resilience: { stream_first_event: 2s, answer: 2s, cooldown: 1ms, retries: 0 }`

/** Cost of 20 input and 7 output tokens, as the mock reports them, at the price of model-b. */
const KNOWN = (20 * 1 + 7 * 10) / 1e6

const html: Script = (response) => void response.writeHead(200, { 'content-type': 'text/html' }).end('<p>')
const refused: Script = (response) =>
  void response.writeHead(429, { 'content-type': 'application/json' }).end('{"error":{"message":"no"}}')

/** Failures of the first target, and the parts that are then missing from the cost. */
const FIRST: readonly (readonly [name: string, script: Script, missing: readonly string[]])[] = [
  ['resets the connection', (response) => void response.destroy(), ['attempt']],
  ['answers with a page', html, ['attempt']],
  ['says nothing in time', () => {}, ['attempt']],
  ['answers with 429', refused, []],
]

const whole = answer('Paris')
const streamed = stream(chunk({ content: 'Paris' }), chunk({}, { finish_reason: 'stop' }), usageChunk(), DONE)

const session = { 'x-gateway-session-id': 's-1' }
const closed = async (gateway: TestGateway, body: object) =>
  gateway.record((await gateway.chat(body, session)).headers.get('x-gateway-request-id'))

for (const [name, script, missing] of FIRST)
  for (const isStream of [false, true])
    test(`if the first target ${name}, the cost of the second target’s ${isStream ? 'stream' : 'answer'} is still recorded (USE-06)`, async (t) => {
      const clock = manualClock()
      const gateway = await testGateway(t, {
        providers: { alpha: script, beta: isStream ? streamed : whole },
        config: CONFIG,
        clock,
      })
      const call = closed(gateway, ask('auto', { stream: isStream }))
      await until('the first target is asked', () => gateway.upstream.alpha!.ledger.length)
      if (name === 'says nothing in time') await clock.advance(2_000)
      const record = await call
      assert.deepEqual([record.state, record.fallbacks], ['completed', 1])
      assert.deepEqual([record.tokens.input, record.tokens.output, record.tokens.source], [20, 7, 'reported'])
      assert.deepEqual([record.cost_usd, record.cost_missing], [KNOWN, missing])
      assert.deepEqual(
        record.attempt_log.map(({ cost_usd }: { cost_usd: number | null }) => cost_usd),
        [missing.length > 0 ? null : 0, KNOWN],
      )
      const isMinimum = missing.length > 0
      const counted = { cost_usd: KNOWN, cost_is_minimum: isMinimum, calls_without_cost: Number(isMinimum) }
      const { totals, buckets } = (await gateway.get('/api/usage/history')).json
      const ofSession = (await gateway.get('/api/sessions/s-1')).json
      const targets = (await gateway.get('/api/routes')).json.routes[0].targets
      for (const sum of [
        totals,
        buckets[0],
        ofSession,
        ofSession.by_model[0],
        ofSession.parts[0],
        targets[1],
      ])
        assert.deepEqual(pick(sum, counted), counted)
      assert.equal((await gateway.get('/api/usage/logs')).json.data[0].cost_missing?.join(), missing.join())
      const metrics = (await gateway.get('/metrics')).text
      assert.match(metrics, /^waybill_cost_usd_total\{.*"beta".*\} 0\.00009$/m)
      assert.equal(/^waybill_calls_without_cost_total\{.*\} 1$/m.test(metrics), isMinimum)
    })

test('unknown costs make a key’s spending a minimum, or an estimate if the key has a budget', async (t) => {
  const digest = (key: string) => `sha256:${createHash('sha256').update(key).digest('hex')}`
  const gateway = await testGateway(t, {
    providers: { alpha: html, beta: whole },
    config: `${CONFIG}
keys:
  - { name: ann, digest: "${digest('key-of-ann')}" }
  - { name: ben, digest: "${digest('key-of-ben')}", budget: { usd: 5, per: month } }`,
  })
  const of = async (name: string, model: string) => {
    const headers = { authorization: `Bearer key-of-${name}` }
    const answered = await gateway.chat(ask(model), headers)
    await gateway.record(answered.headers.get('x-gateway-request-id'), headers)
    return (await gateway.get('/api/keys/me', { headers })).json
  }
  const direct = await of('ann', 'beta/model-b')
  assert.deepEqual([direct.spent_usd, direct.spent_is_minimum, direct.estimated_usd], [KNOWN, false, 0])
  const partly = await of('ann', 'auto')
  assert.deepEqual([partly.spent_usd, partly.spent_is_minimum, partly.estimated_usd], [0.00018, true, 0])
  const estimated = await of('ben', 'auto')
  assert.equal(estimated.spent_is_minimum, false)
  assert.ok(estimated.estimated_usd > 0 && estimated.spent_usd > KNOWN)
})

test('a call that cannot be priced, or whose provider reports no usage, is marked as such', async (t) => {
  const gateway = await testGateway(t, {
    providers: { beta: whole },
    config: CONFIG.replace(/.*alpha.*\n/, '').replace('{ model: alpha/model-a }, ', ''),
  })
  const unpriced = await closed(gateway, ask('beta/other'))
  assert.deepEqual([unpriced.cost_usd, unpriced.cost_missing, unpriced.tokens.input], [null, ['price'], 20])
  gateway.upstream.beta!.script = answer('Paris', null)
  const unreported = await closed(gateway, ask('auto'))
  assert.deepEqual([unreported.cost_usd, unreported.cost_missing], [null, ['usage']])
  gateway.upstream.beta!.script = refused
  const nothing = await closed(gateway, ask('auto'))
  assert.deepEqual([nothing.state, nothing.cost_usd, nothing.cost_missing], ['failed', 0, []])
  const { totals } = (await gateway.get('/api/usage/history')).json
  assert.deepEqual([totals.cost_usd, totals.cost_is_minimum, totals.calls_without_cost], [0, true, 2])
})

const pick = (from: object, like: object) =>
  Object.fromEntries(Object.keys(like).map((name) => [name, (from as Record<string, unknown>)[name]]))

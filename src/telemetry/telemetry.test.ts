// The traces of a call as received by a collector, over a real socket.

import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { answer, chunk, DONE, fail, stream, usageChunk } from '../../mocks/test-upstream.ts'
import { ask, providerKey, TWO_TARGETS, testGateway } from '../test/test-gateway.ts'
import { until } from '../test/test-until.ts'
import { NAMES } from './spans.ts'
import { collector, seen } from './test-collector.ts'

const PRICE =
  'models: { alpha/model-a: { price: { input: 1, output: 2 } }, beta/model-b: { price: { input: 1, output: 2 } } }'
const traced = (t: TestContext, endpoint: string, more: object = {}, settings = '') =>
  testGateway(t, {
    providers: { alpha: answer(), beta: answer() },
    config: `telemetry: { endpoint: "${endpoint}", ${settings} }\n${PRICE}\n${TWO_TARGETS}`,
    ...more,
  })

test('the trace equals the record, attempt by attempt, for answers, streams, fallbacks and failures (TRACE-01, TRACE-02)', async (t) => {
  const { url, spans } = await collector(t)
  const gateway = await traced(t, url, { providers: { alpha: fail(500), beta: answer() } })
  await gateway.chat(ask('auto'), { 'x-session-id': 'trace' })
  gateway.upstream.beta!.script = stream(chunk({ content: 'a' }), usageChunk(), DONE)
  await gateway.chat(ask('beta/model-b', { stream: true }))
  gateway.upstream.beta!.script = fail(400)
  await gateway.chat(ask('beta/model-b'))
  const { json } = await gateway.get('/api/usage/request-logs')
  const calls = await Promise.all(
    json.data.map(
      async ({ id }: { id: string }) => (await gateway.get(`/api/usage/request-logs/${id}`)).json,
    ),
  )
  const all = await seen(spans, 7)
  assert.equal(all.length, 7)
  for (const call of calls) {
    const mine = all.filter(({ trace }) => trace === call.id.replaceAll('-', ''))
    const [server, ...more] = mine.filter(({ kind }) => kind === 2)
    assert.equal(more.length, 0)
    assert.equal(server!.name, 'POST /v1/chat/completions')
    assert.equal(server!.parent, '')
    assert.equal(server!.attributes['waybill.request_id'], call.id)
    assert.equal(server!.attributes[NAMES.httpStatus], call.status)
    assert.equal(server!.error, call.state !== 'completed')
    assert.deepEqual(
      Object.keys(server!.attributes).filter((name) => name.startsWith('gen_ai.usage')),
      [],
      'usage is counted once',
    )
    const clients = mine.filter(({ kind }) => kind === 3)
    assert.equal(clients.length, call.attempt_log.length)
    for (const attempt of call.attempt_log) {
      const { name, parent, error, attributes } = clients.find(
        (each) => each.attributes['waybill.attempt'] === attempt.n,
      )!
      assert.equal(name, `chat ${attempt.model}`)
      assert.equal(parent, server!.id)
      assert.equal(error, attempt.outcome !== 'answered')
      assert.equal(attributes[NAMES.provider], attempt.provider)
      assert.equal(attributes[NAMES.requestStream], call.stream)
      assert.equal(attributes[NAMES.inputTokens], attempt.tokens.input ?? undefined)
      assert.equal(attributes[NAMES.outputTokens], attempt.tokens.output ?? undefined)
      assert.equal(attributes[NAMES.cost], attempt.cost_usd ?? undefined)
      assert.equal(attributes['waybill.outcome'], attempt.outcome)
    }
  }
})

test('with `proposed_cost`, attempts have their cost and its source also under the proposed names (TRACE-02)', async (t) => {
  const { url, spans } = await collector(t)
  const gateway = await traced(
    t,
    url,
    { providers: { alpha: fail(500), beta: answer() } },
    'proposed_cost: true',
  )
  await gateway.chat(ask('auto'))
  gateway.upstream.beta!.script = answer('x', {
    prompt_tokens: 10,
    completion_tokens: 5,
    total_tokens: 15,
    cost: 0.25,
  })
  await gateway.chat(ask('beta/model-b'))
  const all = await seen(spans, 5)
  const costs = all
    .filter(({ attributes }) => attributes['waybill.outcome'] === 'answered')
    .map(({ attributes: each }) => [
      each[NAMES.costAmount] === each[NAMES.cost],
      each[NAMES.costCurrency],
      each[NAMES.costSource],
    ])
  assert.deepEqual(costs, [
    [true, 'USD', 'local'],
    [true, 'USD', 'provider'],
  ])
  const reported = all.find(({ attributes }) => attributes[NAMES.costSource] === 'provider')
  assert.equal(reported?.attributes[NAMES.costAmount], 0.25)
})

test('a collector that is dead, slow or refusing changes no answer and no record, and dropped spans are counted (TRACE-03)', async (t) => {
  const [slow, refusing] = [await collector(t, 0), await collector(t, 400)]
  for (const endpoint of ['http://127.0.0.1:1', slow.url, refusing.url]) {
    const gateway = await traced(t, endpoint)
    for (let n = 0; n < 3; n++) assert.equal((await gateway.chat(ask('auto'))).status, 200)
    assert.equal((await gateway.get('/api/usage/request-logs')).json.data.length, 3)
    if (endpoint === refusing.url) {
      const count = async () =>
        Number(/waybill_telemetry_dropped_spans_total (\d+)/.exec((await gateway.get('/metrics')).text)?.[1])
      assert.equal(await until('spans are dropped', count), 6)
    }
  }
})

test('a trace contains no prompt, answer or key, and a secret header is sent only to the collector (TRACE-04)', async (t) => {
  const { url, bodies, headers, spans } = await collector(t)
  const gateway = await traced(t, url, { env: { OTEL_KEY: 'x-key=sesame,x-b=2' } }, 'headers: $OTEL_KEY')
  await gateway.chat(ask('auto'), { authorization: 'Bearer client-secret', 'x-session-id': 's-1' })
  await seen(spans, 2)
  const all = Buffer.concat(bodies).toString('latin1')
  assert.doesNotMatch(all, /where to\?|plain answer|secret|sesame/)
  assert.equal(headers[0]!['x-key'], 'sesame')
  assert.equal(headers[0]!['content-type'], 'application/x-protobuf')
  assert.equal(headers[0]!.path, '/v1/traces')
  assert.ok(
    gateway.upstream.alpha!.ledger.every(
      ({ headers }) => !('traceparent' in headers) && !('x-key' in headers),
    ),
  )
})

test('traces contain requests and answers only if enabled, without keys, as in artifacts (TRACE-04)', async (t) => {
  for (const content of [false, true]) {
    const { url, bodies, spans } = await collector(t)
    const gateway = await traced(t, url, {
      config: `telemetry: { endpoint: "${url}", content: ${content} }\nartifacts: { bodies: true }\n${TWO_TARGETS}`,
      providers: { alpha: fail(500), beta: answer(`an answer that repeats ${providerKey('beta')}`) },
    })
    await gateway.chat(ask('auto', { user: 'x'.repeat(100_000) }), { authorization: 'Bearer client-secret' })
    const all = await seen(spans, 3)
    const [failed, served] = all.filter(({ kind }) => kind === 3).map(({ attributes }) => attributes)
    const server = all.find(({ kind }) => kind === 2)!.attributes
    assert.doesNotMatch(Buffer.concat(bodies).toString('latin1'), /-secret/)
    assert.deepEqual([server[NAMES.input], server[NAMES.output]], [undefined, undefined])
    if (!content) {
      assert.deepEqual([served![NAMES.input], served![NAMES.output]], [undefined, undefined])
      continue
    }
    assert.match(String(served![NAMES.input]), /where to\?/)
    assert.equal(String(served![NAMES.input]).length, 65_536, 'what is longer is cut')
    assert.match(String(served![NAMES.output]), /an answer that repeats \*\*\*/)
    assert.match(String(failed![NAMES.output]), /mock 500/)
  }
})

test('only the configured share of the calls is sent (TRACE-06)', async (t) => {
  const { url, spans } = await collector(t)
  const gateway = await traced(t, url, {}, 'sample: 0')
  await gateway.chat(ask('auto'))
  await gateway.gateway.close() // sends the waiting spans
  assert.equal(spans().length, 0)
})

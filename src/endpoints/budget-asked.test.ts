// A request may state its output limit twice, and providers differ in which limit they obey. A budget
// reserves the larger limit.

import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { test } from 'node:test'
import { answer, type Script } from '../../mocks/test-upstream.ts'
import { ask, testGateway } from '../test/test-gateway.ts'
import { pause, until } from '../test/test-until.ts'

const digest = createHash('sha256').update('key-of-ann').digest('hex')

const ASKED: readonly object[] = [
  { max_tokens: 100 },
  { max_completion_tokens: 100 },
  { max_completion_tokens: 1, max_tokens: 100 },
  { max_tokens: 1, max_completion_tokens: 100 },
  { max_output_tokens: 1, max_completion_tokens: 1, max_tokens: 100 },
  { max_tokens: 1, generationConfig: { maxOutputTokens: 100 } },
  { max_tokens: 1, n: 100 },
  { max_tokens: 1, n: 1, generationConfig: { candidateCount: 100 } },
  { max_tokens: '100' },
  { max_tokens: 1, n: '100' },
  { max_tokens: 10, best_of: 10 },
  { max_tokens: 1, extra_body: { candidate_count: 100 } },
]

for (const asked of ASKED)
  test(`of 20 concurrent calls, each with ${JSON.stringify(asked)}, a budget for one call admits only one`, async (t) => {
    const use = { prompt_tokens: 1, completion_tokens: 100, total_tokens: 101 }
    const slow: Script = (response, received) =>
      void pause(200).then(() => answer('.', use)(response, received))
    const gateway = await testGateway(t, {
      providers: { alpha: slow },
      config: `
models: { alpha/model-a: { price: { input: 10000, output: 10000 } } }
routes: { auto: { targets: [ { model: alpha/model-a } ] } }
keys: [ { name: ann, digest: "sha256:${digest}", budget: { usd: 0.9 } } ]`,
    })
    const headers = { authorization: 'Bearer key-of-ann' }
    const calls = Array.from({ length: 20 }, () => gateway.chat(ask('auto', asked), headers))
    const statuses = (await Promise.all(calls)).map(({ status }) => status)
    assert.equal(statuses.filter((status) => status === 200).length, 1)
    assert.equal(gateway.received(), 1)
    const reserved = async () => (await gateway.get('/api/keys/me', { headers })).json.reserved_usd
    await until('nothing is reserved', async () => (await reserved()) === 0)
  })

/** Requested options, and the sum reserved for each, US dollars. At the listed price, the sum would be 1. */
const SERVED: readonly (readonly [asked: object, usd: number])[] = [
  [{}, 1],
  [{ service_tier: 'priority' }, 3],
  [{ service_tier: 'flex' }, 1],
  [{ service_tier: 'unheard_of' }, 1],
  [{ service_tier: 'auto' }, 1],
  [{ speed: 'fast' }, 4],
  [{ service_tier: 'priority', speed: 'fast' }, 12],
  [{ inference_geo: 'us' }, 1.1],
  [{ tools: [{ type: 'web_search_20250305', name: 'web_search', max_uses: 2 }] }, 1.2],
  [{ tools: [{ type: 'web_search_preview' }] }, 1.5],
  [{ tools: [{ type: 'web_search_preview' }], max_tool_calls: 20 }, 3],
  [{ tools: [{ type: 'function', function: { name: 'f', parameters: {} } }] }, 1],
]

for (const [asked, usd] of SERVED)
  test(`a call with ${JSON.stringify(asked)} reserves $${usd}`, async (t) => {
    let reserved = 0
    const gateway = await testGateway(t, {
      providers: {
        alpha: async (response, received) => {
          reserved = (await gateway.get('/api/keys/me', { headers })).json.reserved_usd
          answer()(response, received)
        },
      },
      config: `
models:
  alpha/model-a:
    price: { input: 0, output: 10000, service_tier: { priority: 3, flex: 0.5 }, speed: { fast: 4 }, region: { us: 1.1 }, tools: { web_search: 0.1 } }
routes: { auto: { targets: [ { model: alpha/model-a } ] } }
keys: [ { name: ann, digest: "sha256:${digest}", budget: { usd: 100 } } ]`,
    })
    const headers = { authorization: 'Bearer key-of-ann' }
    assert.equal((await gateway.chat(ask('auto', { max_tokens: 100, ...asked }), headers)).status, 200)
    assert.ok(Math.abs(reserved - usd) < 1e-9, String(reserved))
  })

test('calls to a flat-rate provider are recorded at the list price, but do not count against the budget', async (t) => {
  const gateway = await testGateway(t, {
    providers: { alpha: answer() },
    config: `
models: { alpha/model-a: { price: { input: 10000, output: 10000 } } }
routes: { auto: { targets: [ { model: alpha/model-a } ] } }
keys: [ { name: ann, digest: "sha256:${digest}", budget: { usd: 0.1 } } ]`,
    flat: ['alpha'],
  })
  const headers = { authorization: 'Bearer key-of-ann' }
  for (let call = 1; call <= 3; call++) {
    const { status, headers: given } = await gateway.chat(ask('auto'), headers)
    assert.equal(status, 200)
    const id = given.get('x-gateway-request-id')
    let record: any
    do record = (await gateway.get(`/api/usage/request-logs/${id}`, { headers })).json
    while (!record.completed_at)
    assert.deepEqual([record.cost_usd, record.flat_usd, record.cost_missing], [0.27, 0.27, []])
  }
  const { spent_usd, reserved_usd } = (await gateway.get('/api/keys/me', { headers })).json
  assert.deepEqual([spent_usd, reserved_usd], [0, 0])
  const { totals } = (await gateway.get('/api/usage/history', { headers })).json
  assert.deepEqual([totals.cost_usd, totals.flat_usd], [0.81, 0.81])
})

test('a call without a maximum reserves the output limit of its translated request', async (t) => {
  for (const [dialect, tokens] of [
    ['messages', 32_000],
    ['gemini', 4_096],
  ] as const) {
    let reserved = Number.NaN
    const headers = { authorization: 'Bearer key-of-ann' }
    const gateway = await testGateway(t, {
      providers: {
        alpha: async (response) => {
          reserved = (await gateway.get('/api/keys/me', { headers })).json.reserved_usd
          response.writeHead(400, { 'content-type': 'application/json' }).end('{"error":{"message":"no"}}')
        },
      },
      dialects: { alpha: [dialect] },
      config: `
models: { alpha/model-a: { price: { input: 0, output: 1 } } }
routes: { auto: { targets: [ { model: alpha/model-a } ] } }
keys: [ { name: ann, digest: "sha256:${digest}", budget: { usd: 1 } } ]`,
    })
    await gateway.chat(ask('auto'), headers)
    assert.equal(reserved, tokens / 1_000_000, dialect)
    const asked = gateway.upstream.alpha!.ledger.at(-1)!.json.max_tokens
    assert.equal(asked, dialect === 'messages' ? tokens : undefined)
  }
})

// 1,000 concurrent calls with a budget for ten of them, for each period and each tier. The budget is exceeded
// by at most one call, plus the cost of open calls beyond their reservations (docs/billing.md).

import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { type TestContext, test } from 'node:test'
import { Agent, request } from 'undici'
import type { Script } from '../../mocks/test-upstream.ts'
import { PERIODS } from '../core/period.ts'
import { ask, testGateway } from '../test/test-gateway.ts'
import { until } from '../test/test-until.ts'

const CALLS = 1_000
const DIGEST = createHash('sha256').update('key-of-ann').digest('hex')
const KEY = { authorization: 'Bearer key-of-ann' }
const SESSION = 'one'

interface Case {
  readonly budget: string
  /** Price of an output token, US dollars per million, with its factors. */
  readonly price: string
  readonly asked?: object
  readonly served?: string
  /** Cost of a call, and the sum reserved for it, US dollars. */
  readonly cost: number
  readonly reserved: number
}

/** Makes the calls. Returns the number of admitted calls and their cost. */
async function makeCalls(t: TestContext, { budget, price, asked = {}, served, reserved }: Case) {
  const body = JSON.stringify({
    ...{ id: 'chatcmpl-1', object: 'chat.completion', created: 0, model: 'model-a' },
    choices: [{ index: 0, message: { role: 'assistant', content: '.' }, finish_reason: 'stop' }],
    usage: { prompt_tokens: 0, completion_tokens: 10, total_tokens: 10 },
    service_tier: served,
  })
  const slow: Script = (response) =>
    void setTimeout(() => response.writeHead(200, { 'content-type': 'application/json' }).end(body), 500)
  const gateway = await testGateway(t, {
    providers: { alpha: slow },
    server: 'max_calls: 5000',
    config: `models: { alpha/model-a: { price: ${price} } }
routes: { auto: { targets: [ { model: alpha/model-a } ] } }
keys: [ { name: ann, digest: "sha256:${DIGEST}", budget: ${budget} } ]`,
  })
  const agent = new Agent({ connections: 250, pipelining: 1 })
  t.after(() => agent.destroy())
  const statuses = await Promise.all(
    Array.from({ length: CALLS }, async () => {
      const { statusCode, body: answer } = await request(`${gateway.url}/v1/chat/completions`, {
        method: 'POST',
        dispatcher: agent,
        headers: { 'content-type': 'application/json', 'x-session-id': SESSION, ...KEY },
        body: JSON.stringify(ask('auto', { max_tokens: 10, ...asked })),
      })
      const json = (await answer.json()) as { error?: { code: string } }
      return statusCode === 200 ? 'passed' : `${statusCode} ${json.error?.code}`
    }),
  )
  const own = async () => (await gateway.get(`/api/keys/me?session_id=${SESSION}`, { headers: KEY })).json
  const now = await until('nothing is reserved', async () => {
    const json = await own()
    return json.reserved_usd === 0 && json
  })
  const passed = statuses.filter((status) => status === 'passed').length
  assert.equal(gateway.received(), passed)
  assert.deepEqual(new Set(statuses), new Set(['passed', '429 budget_exceeded']))
  t.diagnostic(
    `${passed} of ${CALLS} passed, $${now.budgets[0].spent_usd} of $${now.budgets[0].usd}; set aside for each: $${reserved}`,
  )
  return { passed, spent: now.budgets[0].spent_usd as number }
}

/** The budget covers ten calls at the sum reserved for each. */
async function holds(t: TestContext, each: Case) {
  const { passed, spent } = await makeCalls(t, each)
  const bound = 10 * each.reserved + each.reserved + passed * Math.max(0, each.cost - each.reserved)
  assert.ok(Math.abs(spent - passed * each.cost) < 1e-9, `$${spent} for ${passed} calls`)
  assert.ok(spent <= bound + 1e-9, `$${spent}, the bound is $${bound}`)
  assert.ok(passed >= 10, 'the budget can be spent')
}

for (const per of PERIODS)
  test(`1,000 concurrent calls stay within a budget for ten calls per ${per}`, (t) =>
    holds(t, {
      budget: `{ usd: 1, per: ${per} }`,
      ...{ price: '{ input: 0, output: 10000 }', cost: 0.1, reserved: 0.1 },
    }))

test('1,000 concurrent calls with four budgets do not exceed the smallest', (t) =>
  holds(t, {
    budget:
      '[ { usd: 1, per: day }, { usd: 4, per: week }, { usd: 9, per: month }, { usd: 2, per: session } ]',
    ...{ price: '{ input: 0, output: 10000 }', cost: 0.1, reserved: 0.1 },
  }))

const TIERED = '{ input: 0, output: 10000, service_tier: { priority: 2, flex: 0.5, ultrafast: 6 } }'
/**
 * Requested tier, served tier, factor of the cost, factor of the reserved sum. The reserved sum is never
 * below the listed price.
 */
const TIERS = [
  ['default', 'default', 1, 1],
  ['flex', 'flex', 0.5, 1],
  ['priority', 'priority', 2, 2],
  ['priority', 'default', 1, 2],
  ['ultrafast', 'ultrafast', 6, 6],
  ['default', 'priority', 2, 1],
] as const

for (const [asked, served, cost, reserved] of TIERS)
  test(`1,000 concurrent calls that request tier ${asked} and are served at ${served} stay within a budget for ten calls`, (t) =>
    holds(t, {
      budget: `{ usd: ${reserved} }`,
      ...{ price: TIERED, asked: { service_tier: asked }, served },
      ...{ cost: cost * 0.1, reserved: reserved * 0.1 },
    }))

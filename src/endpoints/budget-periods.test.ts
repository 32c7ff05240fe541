// Budgets by day, week, month and session, alone and together: which calls count, when the period restarts,
// and the error when a budget is spent.

import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { type TestContext, test } from 'node:test'
import { answer } from '../../mocks/test-upstream.ts'
import { dated } from '../shared/test-clock.ts'
import { ask, type TestGateway, temporaryDirectory, testGateway } from '../test/test-gateway.ts'
import { until } from '../test/test-until.ts'

const DIGEST = createHash('sha256').update('key-of-ann').digest('hex')
const KEY = { authorization: 'Bearer key-of-ann' }
/** Price of a call: 100 tokens at a cent make one dollar. */
const DOLLAR = answer('.', { prompt_tokens: 0, completion_tokens: 100, total_tokens: 100 })

interface Clock {
  now: number
}

const start = (t: TestContext, budget: string, clock: Clock, data = temporaryDirectory(t)) =>
  testGateway(t, {
    data,
    providers: { alpha: DOLLAR },
    clock: dated(() => clock.now),
    config: `models: { alpha/model-a: { price: { input: 0, output: 10000 } } }
routes: { auto: { targets: [ { model: alpha/model-a }, { model: alpha/unpriced } ] }, free: { targets: [ { model: alpha/unpriced } ] } }
keys: [ { name: ann, digest: "sha256:${DIGEST}", budget: ${budget} } ]`,
  })

const own = async ({ get }: TestGateway, session = '') => {
  const query = session && `?session_id=${session}`
  return (await get(`/api/keys/me${query}`, { headers: KEY })).json
}
/** Makes a call, and waits until its cost is counted. */
async function spend(gateway: TestGateway, session?: string, model = 'auto') {
  const headers = session === undefined ? KEY : { ...KEY, 'x-session-id': session }
  const result = await gateway.chat(ask(model, { max_tokens: 100 }), headers)
  await until('nothing is reserved', async () => (await own(gateway)).reserved_usd === 0)
  return result
}
const at = (moment: string) => Date.parse(moment)

for (const [per, from, reset] of [
  ['day', '2026-11-25T23:59:00Z', '2026-11-26T00:00:00.000Z'],
  ['week', '2026-11-29T23:59:00Z', '2026-11-30T00:00:00.000Z'],
  ['month', '2026-11-30T23:59:00Z', '2026-12-01T00:00:00.000Z'],
] as const)
  test(`once the budget for a ${per} is spent, calls are refused until the ${per} ends`, async (t) => {
    const clock = { now: at(from) }
    const gateway = await start(t, `{ usd: 2, per: ${per} }`, clock)
    for (let n = 0; n < 2; n++) assert.equal((await spend(gateway)).status, 200)
    const refused = await spend(gateway)
    assert.deepEqual([refused.status, refused.json.error.code], [429, 'budget_exceeded'])
    assert.equal(
      refused.json.error.message,
      `The key "ann" has spent $2.00 of its $2.00 for this ${per}; the budget resets at ${reset}.`,
    )
    assert.equal(refused.headers.get('retry-after'), '60')
    assert.equal(refused.headers.get('x-should-retry'), 'false')
    const { budgets } = await own(gateway)
    assert.deepEqual(
      budgets.map((each: any) => [each.per, each.spent_usd, each.resets_at]),
      [[per, 2, reset]],
    )
    clock.now = at(reset)
    assert.equal((await spend(gateway)).status, 200)
    assert.equal((await own(gateway)).budgets[0].spent_usd, 1)
  })

test('each session has a separate budget; other sessions, and calls without a session, do not use it up', async (t) => {
  const clock = { now: at('2026-11-25T12:00:00Z') }
  const data = temporaryDirectory(t)
  const first = await start(t, '{ usd: 2, per: session }', clock, data)
  for (let n = 0; n < 2; n++) assert.equal((await spend(first, 'one')).status, 200)
  const refused = await spend(first, 'one')
  assert.deepEqual([refused.status, refused.json.error.code], [429, 'budget_exceeded'])
  assert.match(
    refused.json.error.message,
    /\$2\.00 of its \$2\.00 for this session; the budget of a session is not reset/,
  )
  assert.equal(refused.headers.get('retry-after'), null)
  assert.equal(refused.headers.get('x-should-retry'), 'false')
  assert.equal((await spend(first, 'two')).status, 200)
  for (let n = 0; n < 3; n++) assert.equal((await spend(first)).status, 200)
  const spentBy = async (session?: string) => (await own(first, session)).budgets[0].spent_usd
  assert.deepEqual([await spentBy('one'), await spentBy('two'), await spentBy()], [2, 1, null])
  await first.gateway.close()

  clock.now = at('2026-12-25T12:00:00Z')
  const next = await start(t, '{ usd: 2, per: session }', clock, data)
  assert.equal((await spend(next, 'one')).status, 429, 'neither a restart nor another month begins it anew')
  assert.equal((await spend(next, 'two')).status, 200)
})

test('with several budgets, a call must fit into all of them, and the error names the spent budget', async (t) => {
  const clock = { now: at('2026-11-25T12:00:00Z') }
  const gateway = await start(
    t,
    '[ { usd: 2, per: day }, { usd: 3, per: week }, { usd: 100, per: month }, { usd: 1, per: session } ]',
    clock,
  )
  assert.equal((await spend(gateway, 'one')).status, 200)
  assert.match((await spend(gateway, 'one')).json.error.message, /for this session/)
  assert.equal((await spend(gateway, 'two')).status, 200)
  assert.match((await spend(gateway, 'three')).json.error.message, /\$2\.00 for this day/)
  clock.now = at('2026-11-26T12:00:00Z')
  assert.equal((await spend(gateway, 'three')).status, 200)
  assert.match((await spend(gateway, 'four')).json.error.message, /\$3\.00 for this week/)
  assert.deepEqual(
    (await own(gateway, 'three')).budgets.map(({ per, spent_usd }: any) => [per, spent_usd]),
    [
      ['day', 1],
      ['week', 3],
      ['month', 3],
      ['session', 1],
    ],
  )
  const { json } = await gateway.get('/api/keys/me', { headers: KEY })
  assert.deepEqual([json.budget.per, json.spent_usd], ['month', 3])
})

test('a new budget counts the costs of the day or the week so far', async (t) => {
  const clock = { now: at('2026-11-25T12:00:00Z') }
  const data = temporaryDirectory(t)
  const before = await start(t, '{ usd: 100 }', clock, data)
  await spend(before)
  await before.gateway.close()
  const after = await start(t, '[ { usd: 1, per: day }, { usd: 1, per: week } ]', clock, data)
  assert.equal((await spend(after)).status, 429)
})

test('an unpriced target must be allowed by every budget', async (t) => {
  const clock = { now: at('2026-11-25T12:00:00Z') }
  const some = await start(t, '[ { usd: 2, per: day, unpriced: allow }, { usd: 3, per: week } ]', clock)
  assert.equal((await spend(some, undefined, 'free')).json.error.code, 'price_unknown')
  const all = await start(
    t,
    '[ { usd: 2, per: day, unpriced: allow }, { usd: 3, per: week, unpriced: allow } ]',
    clock,
  )
  assert.equal((await spend(all, undefined, 'free')).status, 200)
})

// Budgets and rates shared by several gateways, over real sockets and one PostgreSQL.

import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { type TestContext, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { answer } from '../../mocks/test-upstream.ts'
import { PERIODS } from '../core/period.ts'
import type { Link } from '../store/postgres/link.ts'
import { ask, type TestGateway, testGateway } from '../test/test-gateway.ts'
import { judgeIdle, sample } from '../test/test-size.ts'
import { until } from '../test/test-until.ts'
import { fleetTests, openShared, skip } from './test-fleet.ts'

const fleetOf = fleetTests({ shared_preload_libraries: 'pg_stat_statements' })
const { freshDatabase } = fleetOf

const KEY = 'key-of-ann'
const digest = createHash('sha256').update(KEY).digest('hex')
const headers = { authorization: `Bearer ${KEY}` }
/**
 * Price settings: each call costs 0.05 dollars, or 0.01 with the cheap model, for 7 output tokens. The 20
 * input tokens are free.
 */
const PRICE =
  'models: { alpha/model-a: { price: { input: 0, output: 7142.857142857143 } }, alpha/cheap: { price: { input: 0, output: 1428.5714285714287 } } }'
const COST = 0.05
const CHEAP_COST = 0.01

const start = (
  t: TestContext,
  url: string,
  name: string,
  limits: string,
  fleet = '',
  durability = 'process',
): Promise<TestGateway> =>
  testGateway(t, {
    providers: { alpha: answer() },
    env: { FLEET_URL: url },
    config: `durability: ${durability}
fleet: { url: $FLEET_URL, instance: ${name}, ${fleet} }
keys: [ { name: ann, role: admin, digest: "sha256:${digest}", ${limits} } ]
${PRICE}
routes: { auto: { targets: [ { model: alpha/model-a } ] } }`,
    options: { fleetUrl: url },
  })

/** Waits until each gateway has seen all the other gateways. */
const acquainted = (gateways: readonly TestGateway[]) =>
  until('they know each other', async () => {
    const told = await Promise.all(gateways.map(({ get }) => get('/readyz')))
    return told.every(({ json }) => json.fleet?.instances === gateways.length)
  })
const call = ({ chat }: TestGateway) => chat(ask('auto', { max_tokens: 7 }), headers)
const all = (
  t: TestContext,
  url: string,
  count: number,
  limits: string,
  fleet = '',
  durability = 'process',
) => Promise.all(Array.from({ length: count }, (_, n) => start(t, url, `i${n}`, limits, fleet, durability)))

/** Returns the number of lease statements among all statements. */
const leaseStatements = async (link: Link): Promise<number> =>
  (
    (await link.query<{ leases: number }>(
      `SELECT coalesce(sum(calls), 0) AS leases FROM pg_stat_statements WHERE query LIKE '%INTO waybill.budgets%'`,
    )) as [{ leases: number }]
  )[0].leases

test('4 gateways with 200 simultaneous calls and a budget of 10 stay within the bound, and one lease serves ten calls (FLEET-08)', {
  skip,
}, async (t) => {
  const url = await freshDatabase()
  const link = openShared(t, url)
  await link.script('CREATE EXTENSION pg_stat_statements')
  const gateways = await all(t, url, 4, 'budget: { usd: 10 }')
  await acquainted(gateways)
  await link.query('SELECT pg_stat_statements_reset()')
  // Twice as many calls as the budget covers.
  let passed = 0
  const refused = new Map<string, number>()
  for (let round = 0; round < 2; round++)
    for (const { status, json } of await Promise.all(
      Array.from({ length: 200 }, (_, n) => call(gateways[n % 4]!)),
    )) {
      if (status === 200) passed++
      else refused.set(`${status} ${json.error.code}`, (refused.get(`${status} ${json.error.code}`) ?? 0) + 1)
    }
  const [{ leases, others }] = (await link.query<{ leases: number; others: number }>(
    `SELECT coalesce(sum(calls) FILTER (WHERE query LIKE '%INTO waybill.budgets%'), 0) AS leases,
        coalesce(sum(calls) FILTER (WHERE query NOT LIKE '%INTO waybill.budgets%'), 0) AS others
       FROM pg_stat_statements WHERE query LIKE '%waybill.%'`,
  )) as [{ leases: number; others: number }]
  const spent = await until('all spending is shared', async () => {
    const [{ usd }] = (await link.query<{ usd: number }>(
      'SELECT sum(usd) AS usd FROM waybill.key_spending WHERE month = ?',
      [new Date().toISOString().slice(0, 7)],
    )) as [{ usd: number }]
    return usd > passed * COST - 1e-6 && usd
  })
  t.diagnostic(
    `${passed} of 400 calls passed, $${spent.toFixed(2)} of $10 spent, ${leases} lease statements and ${others} others (shipping, pulse), refused: ${JSON.stringify([...refused])}`,
  )
  assert.ok(
    Math.abs(spent - passed * COST) < 1e-6,
    'the reported spending is the cost of the calls that passed',
  )
  // Each call reserves its possible cost, so the budget is exceeded by at most one call at each gateway.
  assert.ok(spent <= 10 + gateways.length * COST + 1e-6, `${spent} of 10`)
  assert.ok(passed >= 180, `${passed} of the 200 that the budget pays for`)
  assert.ok(
    leases <= 400 / 10,
    `${leases} statements for ${passed} calls that passed and ${400 - passed} that did not`,
  )
  judgeIdle(t, 'statements for 400 calls, with those of each second', leases + others, 199)
  assert.deepEqual([...refused.keys()], ['429 budget_exceeded'])
  const told = async () => (await gateways[0]!.get('/api/keys/me', { headers })).json.spent_usd
  await until(`the key's spending is ${spent}`, async () => Math.abs((await told()) - spent) < 1)
})

for (const durability of ['process', 'shared'] as const)
  for (const budget of sample([0.1, 1], 2))
    test(`with durability ${durability}, a budget of $${budget} holds for 1,000 simultaneous calls of $0.01 at 3 gateways (FLEET-08)`, {
      skip,
    }, async (t) => {
      const url = await freshDatabase()
      const link = openShared(t, url)
      await link.script('CREATE EXTENSION pg_stat_statements')
      const gateways = await all(t, url, 3, `budget: { usd: ${budget} }`, '', durability)
      await acquainted(gateways)
      await link.query('SELECT pg_stat_statements_reset()')
      for (const { upstream } of gateways)
        upstream.alpha!.script = (response, received) => setTimeout(() => answer()(response, received), 1_000)
      const statuses = await Promise.all(
        Array.from({ length: 1_000 }, async (_, n) => {
          const body = ask('alpha/cheap', { max_tokens: 7 })
          return (await gateways[n % 3]!.chat(body, headers)).status
        }),
      )
      const passed = statuses.filter((status) => status === 200).length
      const pays = budget / CHEAP_COST
      t.diagnostic(
        `${passed} of 1,000 passed, the budget pays for ${pays}; ${await leaseStatements(link)} lease statements`,
      )
      assert.deepEqual(new Set(statuses), new Set([200, 429]))
      assert.ok(passed <= pays + gateways.length, `${passed} passed, the budget pays for ${pays}`)
      assert.ok(passed >= pays - gateways.length, `${passed} passed, the budget pays for ${pays}`)
    })

for (const per of sample(PERIODS, 3))
  test(`a budget of $0.10 per ${per} holds for 1,000 simultaneous calls of $0.01 at 3 gateways (FLEET-08)`, {
    skip,
  }, async (t) => {
    const url = await freshDatabase()
    const others = per === 'month' ? '' : ', { usd: 50, per: month }'
    const gateways = await all(t, url, 3, `budget: [ { usd: 0.1, per: ${per} }${others} ]`)
    await acquainted(gateways)
    for (const { upstream } of gateways)
      upstream.alpha!.script = (response, received) => setTimeout(() => answer()(response, received), 1_000)
    const made = async (n: number, session: string) =>
      (
        await gateways[n % 3]!.chat(ask('alpha/cheap', { max_tokens: 7 }), {
          ...headers,
          'x-session-id': session,
        })
      ).status
    const statuses = await Promise.all(Array.from({ length: 1_000 }, (_, n) => made(n, 'one')))
    const passed = statuses.filter((status) => status === 200).length
    t.diagnostic(`${passed} of 1,000 passed, the budget pays for 10`)
    assert.deepEqual(new Set(statuses), new Set([200, 429]))
    assert.ok(passed >= 10 - gateways.length && passed <= 10 + gateways.length, `${passed} passed`)
    if (per === 'session') assert.equal(await made(0, 'two'), 200, 'another session has its own')
    const spent = async () =>
      (await gateways[1]!.get('/api/keys/me?session_id=one', { headers })).json.budgets[0].spent_usd
    await until(
      'each knows what all have spent',
      async () => Math.abs((await spent()) - passed * CHEAP_COST) < 1e-6,
    )
  })

test('successive calls at more than one gateway can spend the whole budget, even if each call reserves more than the budget (FLEET-08)', {
  skip,
}, async (t) => {
  const url = await freshDatabase()
  const budget = 0.2
  const pays = Math.round(budget / CHEAP_COST)
  const gateways = await all(t, url, 3, `budget: { usd: ${budget} }`)
  await acquainted(gateways)
  // Without a maximum, 4,096 output tokens are reserved, which cost $5.85.
  const pass = async (n: number) =>
    (await gateways[n % 3]!.chat(ask('alpha/cheap'), headers)).status === 200 ? 1 : 0
  const passed = [0, 0, 0]
  const sum = () => passed.reduce((sum, count) => sum + count)
  const end = Date.now() + 120_000
  let tries = 0
  for (; sum() < pays && Date.now() < end; tries++) {
    passed[tries % 3]! += await pass(tries)
    await sleep(200)
  }
  const atOnce = await Promise.all(Array.from({ length: 60 }, (_, n) => pass(n)))
  const more = atOnce.filter((one) => one === 1).length
  t.diagnostic(`of ${tries} calls passed ${passed}; then ${more} of 60 at once`)
  assert.ok(sum() >= pays, 'the whole budget can be spent')
  assert.ok(passed.filter((count) => count > 0).length > 1, `not only one gateway passes some: ${passed}`)
  assert.ok(sum() + more <= pays + gateways.length)
})

test('200 simultaneous calls that cost three times their reserved amount exceed the budget by at most the difference (FLEET-08)', {
  skip,
}, async (t) => {
  const url = await freshDatabase()
  const budget = 10
  const gateways = await all(t, url, 4, `budget: { usd: ${budget} }`)
  await acquainted(gateways)
  // The provider answers with 42 output tokens for 0.30 dollars, although 14 tokens for 0.10 dollars were
  // requested.
  const [cost, reserve] = [42 * (COST / 7), 14 * (COST / 7)]
  const dear = answer('long', { prompt_tokens: 20, completion_tokens: 42, total_tokens: 62 })
  for (const { upstream } of gateways)
    upstream.alpha!.script = (response, received) => setTimeout(() => dear(response, received), 500)
  const dearCall = ({ chat }: TestGateway) => chat(ask('auto', { max_tokens: 14 }), headers)
  const statuses = await Promise.all(
    Array.from({ length: 200 }, async (_, n) => (await dearCall(gateways[n % 4]!)).status),
  )
  const passed = statuses.filter((status) => status === 200).length
  const overshoot = passed * cost - budget
  const bound = passed * (cost - reserve)
  t.diagnostic(
    `${passed} of 200 calls passed; $${overshoot.toFixed(2)} over the budget of $${budget}, the bound is $${bound.toFixed(2)}`,
  )
  assert.ok(overshoot > 0, 'the bound was put to the test')
  assert.ok(overshoot <= bound + 1e-6)
  assert.equal((await dearCall(gateways[0]!)).status, 429, 'what is over is over')
})

test('without the shared log, calls use up the lease, and are then refused with a 429 that gives the reason (FLEET-08)', {
  skip,
}, async (t) => {
  const url = await freshDatabase()
  const [one] = (await all(t, url, 1, 'budget: { usd: 10 }')) as [TestGateway]
  assert.equal((await call(one)).status, 200)
  await fleetOf.postgres.stop()
  const ends: { status: number; text: string }[] = []
  for (let n = 0; n < 80; n++) {
    const { status, text } = await call(one)
    ends.push({ status, text })
    if (status !== 200) break
  }
  assert.equal(ends.at(-1)!.status, 429)
  assert.match(
    ends.at(-1)!.text,
    /part of the budget of the key \\"ann\\" is used up, and the shared log cannot be asked/,
  )
  assert.ok(ends.length < 70, `${ends.length} calls`)
  await fleetOf.postgres.start()
  await until('it gets a lease again', async () => (await call(one)).status === 200)
})

test('an unneeded lease is returned, and a dead gateway’s lease is kept until the gateway is forgotten (FLEET-08)', {
  skip,
}, async (t) => {
  const url = await freshDatabase()
  const { createLeases } = await import('./leases.ts')
  const link = openShared(t, url)
  const { createTables: migrate } = await import('../store/postgres/schema.ts')
  const { takeLease } = await import('../store/postgres/instances.ts')
  await migrate(link)
  const taken: number[] = []
  const spent = 0
  const period = new Date().toISOString().slice(0, 7)
  const budget = { keyName: 'ann', period, usd: 10 }
  const leases = createLeases({
    spent: () => spent,
    reserved: () => 0,
    spentElsewhere: () => 0,
    live: () => 2,
    ask: async (request) => {
      const granted = await takeLease(link, { instance: 'one', start: 1 }, { ...request, live: 2 })
      taken.push(granted ?? Number.NaN)
      return granted
    },
    now: Date.now,
  })
  assert.equal(await leases.cover([budget], 0.1, () => {}), null)
  assert.deepEqual(taken, [0.6])
  for (let second = 0; second < 10; second++) assert.equal(leases.beat(), null)
  assert.deepEqual(leases.beat(), { keyName: 'ann', period, usd: 0.6 })
  // Another gateway leases the whole rest. The first gateway keeps its grant.
  assert.equal(
    await takeLease(
      link,
      { instance: 'two', start: 1 },
      { keyName: 'ann', period, budget: 10, need: 9.4, want: 9.4, step: 0, live: 2 },
    ),
    9.4,
  )
  assert.equal(
    await takeLease(
      link,
      { instance: 'two', start: 1 },
      { keyName: 'ann', period, budget: 10, need: 0.05, want: 1, step: 0, live: 2 },
    ),
    null,
  )
})

test('a rate limit holds exactly across all gateways (FLEET-09)', { skip }, async (t) => {
  const url = await freshDatabase()
  const gateways = await all(t, url, 4, 'rate: { requests: 12, per: 1m }')
  const statuses = await Promise.all(
    Array.from({ length: 60 }, async (_, n) => (await call(gateways[n % 4]!)).status),
  )
  assert.equal(statuses.filter((status) => status === 200).length, 12)
  assert.equal(statuses.filter((status) => status === 429).length, 48)
})

for (const [fallback, expected] of [
  ['divide', 6],
  ['refuse', 0],
] as const)
  test(`without the shared log, a rate limit follows its configured fallback ${fallback} (FLEET-09)`, {
    skip,
  }, async (t) => {
    const url = await freshDatabase()
    const gateways = await all(t, url, 2, 'rate: { requests: 6, per: 1m }', `rate_fallback: ${fallback}`)
    await acquainted(gateways)
    await fleetOf.postgres.stop()
    const statuses = await Promise.all(
      Array.from({ length: 20 }, async (_, n) => (await call(gateways[n % 2]!)).status),
    )
    assert.equal(statuses.filter((status) => status === 200).length, expected)
    assert.match(
      (await gateways[0]!.get('/metrics', { headers })).text,
      /waybill_fleet_rate_fallbacks\{instance="i0"\} [1-9]/,
    )
  })

// Rate limits and budgets of keys: refused calls, their errors, and that a refused call leaves nothing
// behind.
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { type TestContext, test } from 'node:test'
import Database from 'better-sqlite3'
import { answer, chunk, stream } from '../../mocks/test-upstream.ts'
import { idOf } from '../core/call.ts'
import { clock } from '../shared/clock.ts'
import { dated } from '../shared/test-clock.ts'
import { STEPS } from '../store/sqlite/migrations.ts'
import { databaseFile } from '../store/sqlite/open.ts'
import { ask, type Setup, type TestGateway, temporaryDirectory, testGateway } from '../test/test-gateway.ts'
import { pause, until } from '../test/test-until.ts'

const ROUTES = `
models: { alpha/model-a: { price: { input: 100000, output: 0 } }, beta/model-b: { price: { input: 100000, output: 0 } } }
routes: { auto: { targets: [ { model: alpha/model-a } ] }, free: { targets: [ { model: alpha/unpriced } ] } }`
const key = (name: string, limits = '') =>
  `{ name: ${name}, digest: "sha256:${createHash('sha256').update(`key-of-${name}`).digest('hex')}"${limits} }`
const as = (name: string) => ({ authorization: `Bearer key-of-${name}` })

/** USAGE has 20 input tokens, which makes $2 per call. */
const keys = (...list: string[]) => `${ROUTES}\nkeys: [ ${list.join(', ')} ]`

const start = (t: TestContext, setup: Setup) =>
  testGateway(t, { providers: { alpha: answer(), beta: answer() }, ...setup })

async function spend(gateway: TestGateway, who: string, model = 'auto') {
  const got = await gateway.chat(ask(model), as(who))
  if (got.status === 200) {
    const path = `/api/usage/request-logs/${got.headers.get('x-gateway-request-id')}`
    while (!(await gateway.get(path, { headers: as(who) })).json.completed_at);
  }
  return got
}

test('once a key’s window is used up, the next call is refused with 429 and Retry-After, without a record or an inference (PURE-07)', async (t) => {
  const gateway = await start(t, {
    config: keys(key('ann', ', rate: { requests: 3, per: 3s }'), key('bob')),
  })
  // Sent concurrently, so that they are within one window even on a slow machine.
  const calls = await Promise.all([1, 2, 3, 4].map(() => gateway.chat(ask('auto'), as('ann'))))
  assert.deepEqual(calls.map(({ status }) => status).sort(), [200, 200, 200, 429])
  const refused = calls.find(({ status }) => status === 429)!
  assert.equal(refused.json.error.code, 'rate_limited')
  assert.match(refused.json.error.message, /^The key "ann" may make 3 calls in 3 s; try again in [123] s\.$/)
  const seconds = Number(refused.headers.get('retry-after'))
  assert.ok(seconds >= 1 && seconds <= 3)
  assert.equal(gateway.received(), 3)
  const log = await gateway.get('/api/usage/request-logs', { headers: as('ann') })
  assert.equal(log.status, 200, 'reads are not limited')
  assert.equal(log.json.data.length, 3)
  assert.equal((await gateway.chat(ask('auto'), as('bob'))).status, 200, 'another key is not concerned')
  await pause(seconds * 1_000)
  assert.equal((await gateway.chat(ask('auto'), as('ann'))).status, 200)
})

test('once a budget is spent, calls are refused with the time at which it resets, and it resets at that time', async (t) => {
  let time = Date.UTC(2026, 10, 30, 23, 59)
  const gateway = await start(t, {
    config: keys(key('ann', ', budget: { usd: 3, unpriced: allow }'), key('bob', ', budget: { usd: 3 }')),
    clock: dated(() => time),
  })
  assert.equal((await spend(gateway, 'ann')).status, 200)
  assert.equal(
    (await spend(gateway, 'ann', 'free')).status,
    200,
    'an unknown price does not count, where it is allowed',
  )
  assert.equal((await spend(gateway, 'ann')).status, 200, '$2 of $3 are spent, so one more may go')
  const refused = await spend(gateway, 'ann', 'free')
  assert.deepEqual([refused.status, refused.json.error.code], [429, 'budget_exceeded'])
  assert.equal(
    refused.json.error.message,
    'The key "ann" has spent $4.00 of its $3.00 for this month; the budget resets at 2026-12-01T00:00:00.000Z.',
  )
  assert.equal(refused.headers.get('retry-after'), '60')
  assert.equal(refused.headers.get('x-should-retry'), 'false')
  assert.equal(gateway.received(), 3)
  assert.equal((await spend(gateway, 'bob')).status, 200)
  time += 60_000
  assert.equal((await spend(gateway, 'ann')).status, 200, 'December')
})

test('spending survives a restart, the deletion of old rows, and the later introduction of a budget', async (t) => {
  const data = temporaryDirectory(t)
  const before = await start(t, { data, config: keys(key('ann')) })
  assert.equal((await spend(before, 'ann')).status, 200)
  await before.gateway.close()
  const db = new Database(databaseFile(data))
  db.exec('DELETE FROM call_logs; DELETE FROM call_attempts')
  db.close()
  const after = await start(t, { data, config: keys(key('ann', ', budget: { usd: 1.5 }')) })
  assert.equal((await spend(after, 'ann')).json.error.code, 'budget_exceeded')
  assert.equal(after.received(), 0)
})

test('a fallback counts the known cost of each attempt, even if the total is only a minimum', async (t) => {
  const gateway = await start(t, {
    providers: { alpha: (response) => response.destroy(), beta: answer() },
    config: `${ROUTES.replace('{ model: alpha/model-a }', '{ model: alpha/model-a }, { model: beta/model-b }')}\nkeys: [ ${key('ann', ', budget: { usd: 2 }')} ]`,
  })
  const { headers } = await spend(gateway, 'ann')
  const path = `/api/usage/request-logs/${headers.get('x-gateway-request-id')}`
  const { json } = await gateway.get(path, { headers: as('ann') })
  assert.deepEqual([json.cost_usd, json.cost_missing], [2, ['attempt']])
  assert.equal((await spend(gateway, 'ann')).json.error.code, 'budget_exceeded')
})

test('open calls continue when the budget is spent', async (t) => {
  const slow = stream(chunk({ content: 'a' }), 300, chunk({}, { finish_reason: 'stop' }), 'data: [DONE]\n\n')
  const gateway = await start(t, {
    providers: { alpha: answer(), beta: slow },
    config: keys(key('ann', ', budget: { usd: 2 }')),
  })
  const open = gateway.chat(ask('beta/model-b', { stream: true }), as('ann'))
  await until('a request', gateway.received)
  assert.equal((await spend(gateway, 'ann')).status, 200)
  assert.equal((await spend(gateway, 'ann')).status, 429)
  assert.match((await open).text, /\[DONE\]/)
})

test('a database from an earlier release starts with the sums of its rows, and its token counts appear as reported (LIFE-08)', async (t) => {
  const data = temporaryDirectory(t)
  const db = new Database(databaseFile(data))
  db.exec(STEPS[0]!)
  db.pragma('user_version = 1')
  const now = clock.now()
  const insert = (table: string, row: Record<string, string | number>) =>
    db
      .prepare(`INSERT INTO ${table} (${Object.keys(row)}) VALUES (${Object.keys(row).map(() => '?')})`)
      .run(Object.values(row))
  for (const id of [idOf(now), idOf(now)]) {
    insert('call_logs', {
      ...{ id, created_at: now, completed_at: now, state: 'completed', endpoint: '/v1/chat/completions' },
      ...{ requested_model: 'auto', resolved_provider: 'alpha', resolved_model: 'model-a' },
      ...{
        picked_provider: 'alpha',
        picked_model: 'model-a',
        decision: '{"cause":"priority","skipped":[]}',
        key_name: 'ann',
        stream: 0,
      },
      ...{ attempts: 1, fallbacks: 0, cost_usd: 0.75, cache: 'BYPASS' },
    })
    const attempt = { call_id: id, n: 1, provider: 'alpha', model: 'model-a', started_at: now }
    insert('call_attempts', { ...attempt, outcome: 'answered', tokens_output: 7 })
    insert('call_attempts', { ...attempt, n: 2, outcome: 'failed' })
  }
  db.close()
  const gateway = await start(t, { data, config: keys(key('ann', ', budget: { usd: 1.5 }')) })
  assert.match((await spend(gateway, 'ann')).json.error.message, /has spent \$1\.50 of its \$1\.50 /)
  const { json } = await gateway.get('/api/usage/request-logs', { headers: as('ann') })
  const call = await gateway.get(`/api/usage/request-logs/${json.data[0].id}`, { headers: as('ann') })
  assert.deepEqual(
    call.json.attempt_log.map((attempt: any) => attempt.tokens.source),
    ['reported', null],
  )
})

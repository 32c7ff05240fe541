// LIFE-08: databases of earlier releases open, retain their rows, and have correct sums afterwards.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import Database from 'better-sqlite3'
import { idOf } from '../../core/call.ts'
import { clock } from '../../shared/clock.ts'
import { ask, temporaryDirectory, testGateway } from '../../test/test-gateway.ts'
import { migrate } from './migrations.ts'
import { databaseFile } from './open.ts'
import { checkRollUps } from './test-database.ts'

/** A call in the form written by the first release. */
const FIRST = `INSERT INTO call_logs VALUES (@id, @at, @end, @state, '/v1/chat/completions', 'auto', 'alpha', 'model-a',
  'alpha', 'model-a', null, 'auto', 'priority', 'cheap', '{"cause":"priority","skipped":[]}', @session, null, @key, 0, 200,
  null, 1, 0, @latency, 3.5, @input, 7, null, null, null, 'reported', @cost, @price, 'BYPASS', null)`

test('a database of the first release opens, retains its rows, and has correct sums (LIFE-08, LOG-10)', async (t) => {
  const data = temporaryDirectory(t)
  const old = new Database(databaseFile(data))
  old.pragma('journal_mode = WAL')
  migrate(old, 1)
  old.exec(`INSERT INTO prices VALUES (1, '{"source":"config","model":"model-a","rates":{}}')`)
  const insert = old.prepare(FIRST)
  const begin = clock.now() - 90_000_000
  for (let call = 0; call < 500; call++) {
    const at = begin + call * 170_000
    const open = call === 499
    insert.run({
      id: idOf(at),
      at,
      end: open ? null : at + 900,
      state: open ? 'streaming' : call % 9 === 0 ? 'failed' : 'completed',
      session: call % 4 === 0 ? null : `s-${call % 13}`,
      key: call % 3 === 0 ? 'laptop' : null,
      latency: 900 + call,
      input: call % 5 === 0 ? null : call,
      cost: call % 5 === 0 ? null : call / 1000,
      price: call % 5 === 0 ? null : 1,
    })
  }
  const rows = old.prepare(`SELECT * FROM call_logs WHERE state <> 'streaming' ORDER BY id`).all()
  old.close()

  const gateway = await testGateway(t, { data })
  assert.equal((await gateway.get('/api/usage/request-logs?state=interrupted')).json.data.length, 1)
  const { totals } = (await gateway.get('/api/usage/history?window=7d')).json
  assert.deepEqual([totals.calls, totals.failed], [500, 57])
  await gateway.gateway.close()

  const db = new Database(databaseFile(data), { readonly: true })
  t.after(() => db.close())
  assert.deepEqual(
    db.prepare(`SELECT * FROM call_logs WHERE state <> 'interrupted' ORDER BY id`).all(),
    rows.map((row) => ({
      ...(row as object),
      replayed: 0,
      purpose: null,
      response_id: null,
      traceparent: null,
      transport: null,
      method: null,
      object_id: null,
      objects: null,
      cost_missing: null,
      container_id: null,
      parent_id: null,
      plan_limits: null,
      service_tier: null,
      speed: null,
      region: null,
      usage: null,
      reported_usd: null,
      priced_usd: null,
      flat_usd: null,
      cache_lost: null,
      client: null,
    })),
  )
  assert.equal(db.pragma('integrity_check', { simple: true }), 'ok')
  assert.equal(db.pragma('auto_vacuum', { simple: true }), 2, 'deleted space can be given back')
  checkRollUps(db)
})

/** The previous release wrote schema 11. */
const BEFORE = 11

test('costs recorded by the previous release are read back unchanged and add up (LIFE-08, LOG-10, USE-06)', async (t) => {
  const data = temporaryDirectory(t)
  const first = await testGateway(t, { data, config: PRICED })
  for (let call = 0; call < 3; call++) await first.chat(ask('auto'), { 'x-session-id': 's-1' })
  await first.gateway.close()
  // The database as that release left it: its own tables with the same rows, and one call with an unknown
  // cost.
  const before = temporaryDirectory(t)
  const old = new Database(databaseFile(before))
  migrate(old, BEFORE)
  old.prepare('ATTACH ? AS new').run(databaseFile(data))
  for (const table of ['prices', 'call_logs', 'call_attempts']) {
    const columns = (old.pragma(`main.table_info(${table})`) as { name: string }[]).map(({ name }) => name)
    old.exec(`INSERT INTO main.${table} (${columns}) SELECT ${columns} FROM new.${table}`)
  }
  old.exec('DETACH new')
  const [unknown] = old.prepare('SELECT id FROM call_logs ORDER BY id').pluck().all() as string[]
  old.prepare('UPDATE call_logs SET cost_usd = NULL WHERE id = ?').run(unknown)
  old.pragma(`user_version = ${BEFORE}`)
  old.close()

  const gateway = await testGateway(t, { data: before, config: PRICED })
  await gateway.chat(ask('auto'), { 'x-session-id': 's-1' })
  const { data: records } = (await gateway.get('/api/usage/request-logs')).json
  assert.deepEqual(
    records.map(({ cost_usd, cost_missing, client }: any) => [cost_usd, cost_missing, client]),
    [
      [0.00009, [], 'node'],
      [0.00009, null, null],
      [0.00009, null, null],
      [null, null, null],
    ],
  )
  const sums = { cost_usd: 0.00027, cost_is_minimum: true, calls_without_cost: 1 }
  const { totals } = (await gateway.get('/api/usage/history')).json
  const session = (await gateway.get('/api/sessions/s-1')).json
  for (const sum of [totals, session]) assert.deepEqual({ ...sum, ...sums }, sum)
})

const PRICED = `
models: { alpha/model-a: { price: { input: 1, output: 10 } } }
routes: { auto: { targets: [ { model: alpha/model-a } ] } }`

test('the owners of objects are taken over from the calls, the earliest first, and outlive them (PASS-03)', (t) => {
  const db = new Database(databaseFile(temporaryDirectory(t)))
  t.after(() => db.close())
  migrate(db, 1)
  db.exec(`INSERT INTO prices VALUES (1, '{}')`)
  const insert = db.prepare(FIRST)
  const ids = [1, 2].map((n) => idOf(clock.now() + n * 1_000))
  for (const [n, id] of ids.entries())
    insert.run({
      ...{ id, at: n, end: n + 1, state: 'completed', session: null, key: `key-${n}` },
      ...{ latency: 1, input: 1, cost: 1, price: 1 },
    })
  migrate(db, 24)
  const make = db.prepare('UPDATE call_logs SET objects = ?, container_id = ? WHERE id = ?')
  make.run('["file-1","batch_1"]', 'container_1', ids[0])
  make.run('["file-1","file-2"]', 'container_1', ids[1])
  migrate(db)
  const owners = () =>
    Object.fromEntries(db.prepare('SELECT id, key_name FROM object_owners ORDER BY id').raw().all() as [])
  const expected = { batch_1: 'key-0', container_1: 'key-0', 'file-1': 'key-0', 'file-2': 'key-1' }
  assert.deepEqual(owners(), expected)
  make.run('["file-1","files/a"]', 'container_1', ids[0])
  make.run('["file-1","files/a"]', 'container_2', ids[1])
  make.run('["files/a"]', null, ids[0])
  db.exec('DELETE FROM call_attempts; DELETE FROM call_logs')
  assert.deepEqual(owners(), { ...expected, container_2: 'key-1', 'files/a': 'key-1' })
})

test('an interrupted migration leaves the database unchanged', (t) => {
  const db = new Database(databaseFile(temporaryDirectory(t)))
  t.after(() => db.close())
  migrate(db, 1)
  db.exec('CREATE TABLE artifacts (not_ours)') // the step fails at its last table
  assert.throws(() => migrate(db), /artifacts already exists/)
  assert.equal(db.pragma('user_version', { simple: true }), 1)
  const tables = db.prepare(`SELECT count(*) FROM sqlite_master WHERE name = 'sessions'`).pluck()
  assert.equal(tables.get(), 0)
  db.exec('DROP TABLE artifacts')
  migrate(db)
  assert.equal(tables.get(), 1)
})

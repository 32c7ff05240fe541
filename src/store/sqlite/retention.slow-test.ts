// LIFE-03, tested with tiny limits. Everything that belongs to a deleted call is also deleted, and the sums follow.
// The files stay under their cap, open calls stay, and calls do not wait long. Over 250 lines, because all limits are
// tested on the same calls.

import assert from 'node:assert/strict'
import { existsSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import Database from 'better-sqlite3'
import { type Call, emptyCall, idOf, type Route } from '../../core/call.ts'
import { createPricer } from '../../pricing/pricing.ts'
import { useClock } from '../../shared/clock.ts'
import { dated, manualClock } from '../../shared/test-clock.ts'
import { ask, temporaryDirectory, testGateway } from '../../test/test-gateway.ts'
import { until } from '../../test/test-until.ts'
import type { Store, StoreOptions } from '../store.ts'
import { databaseFile } from './open.ts'
import { openStore } from './open-store.ts'
import { checkReferences, checkRollUps } from './test-database.ts'

const MIB = 2 ** 20
const HOUR = 3_600_000
const DAY = 24 * HOUR

const price = createPricer({
  baseUrls: {},
  own: { 'p/m0': { input: 1, output: 2 }, 'p/m1': { input: 3, output: 4 } },
})

const options = (directory: string, more: Partial<StoreOptions> = {}): StoreOptions => ({
  directory,
  durability: 'process',
  retention: { rows: 1_000_000, days: 30, bytes: 1024 * MIB },
  artifacts: { keep: 50, bytes: MIB },
  ...more,
})

/** Makes calls of several keys, sessions and models at `at`, in groups one after the other. */
async function make(store: Store, count: number, at: (call: number) => number): Promise<void> {
  for (let call = 0; call < count; call += 20)
    await Promise.all(Array.from({ length: 20 }, (_, index) => one(store, call + index, at(call + index))))
}

async function one(store: Store, number: number, at: number): Promise<string> {
  const { call, route } = routed(number, at)
  await promisify(store.open)({ kind: 'open', call, route })
  const tokens = {
    source: 'reported' as const,
    input: 1000 + number,
    output: 20,
    cached_input: null,
    cache_write: null,
    reasoning: null,
  }
  const failed = number % 17 === 0
  const [target] = route.candidates
  await store.write({
    kind: 'close',
    id: call.id,
    at: at + 100,
    requestsSent: 1,
    fallbacks: 0,
    target,
    ended: { n: 1, target, status: 200, outcome: 'answered', errorCode: null, tokens },
    cost: price(target, tokens, at + 100),
    outcome: {
      state: failed ? 'failed' : 'completed',
      status: 200,
      errorCode: null,
      responseModel: 'm',
      latencyMs: number % 3_000,
      ttftMs: 1,
      tokens: failed ? null : tokens,
    },
  })
  store.saveArtifact(call.id, 0, () => JSON.stringify({ id: call.id, filler: 'x'.repeat(1_000) }))
  return call.id
}

function routed(number: number, at: number): { call: Call; route: Route } {
  const target = { provider: 'p', model: `m${number % 3}`, tier: null, weight: 1 }
  return {
    call: {
      ...emptyCall(idOf(at)),
      requestedModel: 'auto',
      sessionId: number % 4 === 0 ? null : `s-${Math.floor(number / 30)}`,
      keyName: number % 2 === 0 ? 'laptop' : null,
    },
    route: {
      name: 'auto',
      strategy: 'priority',
      candidates: [target],
      decision: { cause: 'priority', skipped: [] },
    },
  }
}

function openAtRest(t: TestContext, directory: string): Database.Database {
  const db = new Database(databaseFile(directory), { readonly: true })
  t.after(() => db.close())
  return db
}

const bytesOf = (directory: string): number =>
  ['waybill.db', 'waybill.db-wal', 'waybill.db-shm']
    .map((name) => join(directory, name))
    .reduce((sum, file) => sum + (existsSync(file) ? statSync(file).size : 0), 0)

const callsIn = async (store: Store) => (await store.calls.routing({ since: 0, until: 2 ** 45 })).total_calls

/** Returns the number of remaining calls. Waits for the expected number. */
async function leaves(store: Store, expected: number): Promise<number> {
  await until(`${expected} calls are left`, async () => (await callsIn(store)) === expected)
  await sleep(200) // time in which more calls would be deleted
  return callsIn(store)
}

/** Resolves when no more calls are deleted. */
async function settled(store: Store): Promise<void> {
  const calls = () => callsIn(store)
  for (let before = -1, now = await calls(); now !== before; ) {
    await sleep(200)
    before = now
    now = await calls()
  }
}

test('no more rows than allowed are stored, and deleted rows leave nothing behind (LIFE-03, LOG-10)', async (t) => {
  const data = temporaryDirectory(t)
  const store = await openStore(options(data, { retention: { rows: 300, days: 30, bytes: 1024 * MIB } }))
  const begin = Date.now() - 10 * 3_600_000
  const first = routed(1, begin - 1)
  await promisify(store.open)({ kind: 'open', ...first })
  await make(store, 3_000, (call) => begin + call * 10_000)
  assert.equal(await leaves(store, 300), 300)
  const { data: rows } = await store.calls.list({}, { limit: 200 })
  assert.equal(rows.length, 200)
  const stillOpen = await store.calls.find(first.call.id)
  assert.equal(stillOpen?.state, 'routed', 'an open call is older than all and was not dropped')
  await store.close(1)
  const db = openAtRest(t, data)
  assert.equal(db.prepare('SELECT count(*) FROM call_logs').pluck().get(), 300)
  assert.equal(db.prepare('SELECT count(*) FROM artifacts').pluck().get(), 50)
  checkReferences(db)
  checkRollUps(db)
})

test('old rows are deleted even without calls, together with prices that no call uses any longer (LIFE-03)', async (t) => {
  const data = temporaryDirectory(t)
  let [now, elapsed] = [Date.now(), 0]
  const intervals = manualClock()
  t.after(useClock({ ...dated(() => now), monotonic: () => elapsed, every: intervals.every }))
  const open = () => openStore(options(data))
  let store = await open()
  await make(store, 200, (call) => now - 40 * DAY + call)
  await make(store, 200, (call) => now - 29 * DAY + call)
  assert.equal(await leaves(store, 200), 200)
  await store.close()
  now += 2 * DAY
  store = await open()
  elapsed += 3_600_000 // two days without a call may be a clock error
  await intervals.advance(60_000)
  assert.equal(await leaves(store, 0), 0)
  await store.close()
  const db = openAtRest(t, data)
  for (const table of [
    'call_logs',
    'call_attempts',
    'usage_hours',
    'latency_hours',
    'series',
    'sessions',
    'prices',
    'artifacts',
  ])
    assert.equal(db.prepare(`SELECT count(*) FROM ${table}`).pluck().get(), 0, table)
  checkReferences(db)
})

test('after the clock jumps ahead on a running gateway, nothing is deleted for an hour; then the clock is accepted (LIFE-03)', async (t) => {
  let [now, elapsed] = [Date.now(), 0]
  const intervals = manualClock()
  t.after(useClock({ ...dated(() => now), monotonic: () => elapsed, every: intervals.every }))
  const store = await openStore(options(temporaryDirectory(t)))
  t.after(() => store.close())
  await make(store, 100, (call) => now - 1_000 + call)
  const after = async (hours: number, expected: number, why = '') => {
    now += hours * 3_600_000
    elapsed += hours * 3_600_000
    await intervals.advance(60_000)
    assert.equal(await leaves(store, expected), expected, why)
  }
  await after(29 * 24, 100)
  const before = now
  now += 365 * DAY
  await after(0, 100)
  await make(store, 20, (call) => now + call) // calls made meanwhile do not confirm the clock
  await after(0.9, 120)
  now = before
  await after(1, 120, 'it was put right')
  await after(24, 20, 'and counts as ever')
  now += 400 * DAY
  await after(0, 20)
  await after(1, 0, 'it stays there')
})

test('a gateway that starts with its clock a year ahead deletes no calls (LIFE-03)', async (t) => {
  let time = Date.now()
  const first = await testGateway(t, { clock: dated(() => time) })
  for (let call = 0; call < 3; call++) await first.chat(ask('auto'))
  await first.gateway.close()
  time += 365 * DAY
  const { get, chat } = await testGateway(t, { data: first.data, clock: dated(() => time) })
  assert.equal((await chat(ask('auto'))).status, 200)
  await sleep(300) // several deletion steps
  assert.equal((await get('/api/usage/request-logs')).json.data.length, 4)
})

test('a clock that jumped is accepted after an hour of calls, regardless of restarts (LIFE-03)', async (t) => {
  const data = temporaryDirectory(t)
  const begin = Date.now()
  const start = async (now: number, expected: number) => {
    const leaveClock = useClock(dated(() => now))
    const store = await openStore(options(data))
    try {
      await make(store, 20, (call) => now + call)
      assert.equal(await leaves(store, expected), expected)
    } finally {
      await store.close()
      leaveClock()
    }
  }
  await start(begin, 20)
  const leapt = begin + 365 * DAY
  for (const [index, minutes] of [0, 30, 40, 95].entries())
    await start(leapt + minutes * 60_000, 40 + 20 * index)
  await start(leapt + 96 * 60_000, 100)
  await start(begin + HOUR, 120) // corrected after all; nothing more is lost
})

test('the database, the write-ahead log and the artifacts together stay under their cap (LIFE-03)', async (t) => {
  const data = temporaryDirectory(t)
  const cap = 2 * MIB
  const store = await openStore(
    options(data, {
      retention: { rows: 1_000_000, days: 30, bytes: cap },
      artifacts: { keep: 200, bytes: MIB / 4 },
    }),
  )
  const begin = Date.now() - DAY
  let most = 0
  const watch = setInterval(() => {
    most = Math.max(most, bytesOf(data))
  }, 5)
  await make(store, 12_000, (call) => begin + call * 2_000)
  await settled(store)
  clearInterval(watch)
  const kept = (await store.calls.routing({ since: 0, until: Date.now() })).total_calls
  await store.close()
  t.diagnostic(`at most ${most} bytes of ${cap}; ${kept} of 12000 calls stay, ${bytesOf(data)} bytes at rest`)
  assert.ok(most > cap / 2, `the cap was reached: ${most}`)
  assert.ok(most <= cap, `${most} bytes are more than ${cap}`)
  assert.ok(kept > 500, `${kept} calls are kept`)
  const db = openAtRest(t, data)
  checkReferences(db)
  checkRollUps(db)
})

test('a smaller cap shrinks the file, and calls do not wait for it (LIFE-03)', async (t) => {
  const data = temporaryDirectory(t)
  let store = await openStore(options(data))
  const begin = Date.now() - DAY
  await make(store, 8_000, (call) => begin + call * 3_000)
  await store.close()
  const before = bytesOf(data)
  store = await openStore(options(data, { retention: { rows: 400, days: 30, bytes: 1024 * MIB } }))
  const waits: number[] = []
  for (let call = 0; call < 100; call++) {
    const start = performance.now()
    await promisify(store.open)({ kind: 'open', ...routed(call, Date.now()) })
    waits.push(performance.now() - start)
  }
  await until('old calls are deleted', async () => (await callsIn(store)) <= 500, 120_000)
  await settled(store)
  await store.close(1)
  waits.sort((a, b) => a - b)
  t.diagnostic(
    `${before} bytes became ${bytesOf(data)}; an opening write waited ${waits[50]!.toFixed(1)} ms, at most ${waits.at(-1)!.toFixed(1)} ms`,
  )
  assert.ok(bytesOf(data) < before / 2)
  checkReferences(openAtRest(t, data))
})

test('continuous reads do not make the write-ahead log grow without limit (LIFE-03)', async (t) => {
  const data = temporaryDirectory(t)
  const store = await openStore(options(data, { retention: { rows: 1_000_000, days: 30, bytes: 4 * MIB } }))
  const begin = Date.now() - 3_600_000
  let [reader, next] = [openAtRest(t, data), openAtRest(t, data)]
  const look = (db: Database.Database) => {
    db.exec('BEGIN')
    db.prepare('SELECT count(*) FROM series').get()
  }
  look(reader)
  const reading = setInterval(() => {
    look(next) // started before the other ends, so that one is always running
    reader.exec('COMMIT')
    ;[reader, next] = [next, reader]
  }, 10)
  let [most, emptied] = [0, 0]
  const watch = setInterval(() => {
    const { size } = statSync(`${databaseFile(data)}-wal`)
    if (size < most / 2) emptied++
    most = Math.max(most, size)
  }, 2)
  await make(store, 4_000, (call) => begin + call * 500)
  clearInterval(watch)
  clearInterval(reading)
  reader.exec('COMMIT')
  await store.close()
  t.diagnostic(`the log had at most ${most} bytes`)
  assert.ok(emptied > 0, 'it was emptied while there were readers')
})

test('artifacts never displace calls, even if their own limit is large (LIFE-03)', async (t) => {
  const data = temporaryDirectory(t)
  const cap = 2 * MIB
  const store = await openStore(
    options(data, {
      retention: { rows: 1_000_000, days: 30, bytes: cap },
      artifacts: { keep: 500, bytes: 64 * MIB },
    }),
  )
  const json = 'x'.repeat(50_000)
  let most = 0
  const watch = setInterval(() => {
    most = Math.max(most, bytesOf(data))
  }, 3)
  for (let call = 0; call < 200; call++)
    store.saveArtifact(await one(store, call, Date.now() - 1_000 + call), json.length, () => json)
  await store.close()
  clearInterval(watch)
  assert.ok(most <= cap, `${most} bytes are more than ${cap}`)
  const db = openAtRest(t, data)
  assert.equal(db.prepare('SELECT count(*) FROM call_logs').pluck().get(), 200)
  assert.ok((db.prepare('SELECT count(*) FROM artifacts').pluck().get() as number) > 0)
  checkReferences(db)
})

test('expired artifacts are deleted at the next start, before any call (LIFE-03)', async (t) => {
  const data = temporaryDirectory(t)
  let store = await openStore(options(data))
  await make(store, 60, (call) => Date.now() - 1_000 + call)
  await store.close()
  store = await openStore(options(data, { artifacts: { keep: 0, bytes: MIB } }))
  await store.close()
  assert.equal(openAtRest(t, data).prepare('SELECT count(*) FROM artifacts').pluck().get(), 0)
})

test('a late write does not reopen a closed call (LOG-04, LOG-10)', async (t) => {
  const data = temporaryDirectory(t)
  const store = await openStore(options(data))
  const other = new Database(databaseFile(data))
  other.exec(`CREATE TRIGGER full BEFORE UPDATE ON call_logs WHEN new.state = 'streaming'
    BEGIN SELECT RAISE(FAIL, 'database or disk is full'); END`)
  const { call, route } = routed(17, Date.now())
  await promisify(store.open)({ kind: 'open', call, route })
  void store.write({ kind: 'streaming', id: call.id, ttftMs: 3 })
  while (store.failure === null) await sleep(2)
  await store.write({
    kind: 'close',
    id: call.id,
    at: call.createdAt + 5,
    requestsSent: 1,
    fallbacks: 0,
    target: route.candidates[0],
    ended: null,
    cost: { usd: null, missing: ['price'], price: null },
    outcome: {
      state: 'failed',
      status: 500,
      errorCode: null,
      responseModel: null,
      latencyMs: 5,
      ttftMs: 3,
      tokens: null,
    },
  })
  other.exec('DROP TRIGGER full')
  other.close()
  await store.close() // retries the remaining rows
  const db = openAtRest(t, data)
  assert.equal(db.prepare('SELECT state FROM call_logs').pluck().get(), 'failed')
  checkRollUps(db)
})

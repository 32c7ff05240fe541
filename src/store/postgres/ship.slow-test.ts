// The shared log with a real PostgreSQL. Batches arrive in any order and number, and the sums equal the rows.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { idOf } from '../../core/call.ts'
import { CALL_FIELDS } from '../../core/record.ts'
import { NO_POSTGRES, startPostgres, type TestPostgres } from '../../test/test-postgres.ts'
import type { Unshipped } from '../shared-log.ts'
import { columnsOf } from '../sql/columns.ts'
import { type Link, openLink } from './link.ts'
import { openCallReads, openSessionReads, openSpanReads } from './reads.ts'
import { comingDays, createTables, lookAtSchema, makePartitions } from './schema.ts'
import { ship } from './ship.ts'
import { checkSharedSums } from './test-shared-log.ts'

let postgres: TestPostgres
let link: Link
if (NO_POSTGRES === false) {
  before(async () => {
    postgres = await startPostgres()
    link = openLink({ url: await postgres.database('ship'), tls: 'verify' }, 'test')
    await createTables(link)
    await makePartitions(link, comingDays(Date.now()))
  })
  after(async () => {
    await link.close()
    await postgres.end()
  })
}

type Call = Unshipped['calls'][number]

/** A row of the journal with a value in every column of the record. */
function row(values: Readonly<Record<string, unknown>>): Call {
  const empty = Object.fromEntries(
    columnsOf(CALL_FIELDS).map(({ name, type, notNull }) => [
      name,
      notNull ? (type === 'TEXT' ? 'x' : 1) : null,
    ]),
  )
  const id = (values.id as string) ?? idOf(Date.now())
  return {
    ...empty,
    id,
    created_at: Number.parseInt(id.slice(0, 8) + id.slice(9, 13), 16),
    decision: '{"cause":"priority","skipped":[]}',
    price: null,
    attempt_log: [{ n: 1, provider: 'alpha', model: 'a', outcome: 'answered' }],
    ...values,
  } as unknown as Call
}

const batch = (revision: number, ...calls: Call[]): Unshipped => ({
  until: revision,
  revision,
  calls,
  spending: [],
})
const rows = () =>
  link.query<{ id: string; state: string; rev: number }>(
    'SELECT id, state, rev FROM waybill.calls ORDER BY id',
  )

test('the shared log has every column of the record, and a second migration changes nothing', {
  skip: NO_POSTGRES,
}, async () => {
  assert.equal((await lookAtSchema(link)).problem, null)
  await Promise.all([createTables(link), createTables(link)])
  assert.equal((await lookAtSchema(link)).problem, null)
})

test('each call is stored once even if batches arrive repeatedly, late, out of order or from a dead process; the sums equal the rows (FLEET-05)', {
  skip: NO_POSTGRES,
}, async () => {
  const ids = Array.from({ length: 40 }, (_, n) => idOf(Date.now() - n))
  const closed = {
    state: 'completed',
    completed_at: Date.now(),
    latency_ms: 40,
    tokens_input: 7,
    cost_usd: 0.25,
    session_id: 's',
  }
  const batches = ids.flatMap((id, n) => [
    {
      start: 1,
      unshipped: batch(2 * n + 1, row({ id, state: 'routed', completed_at: null, session_id: 's' })),
    },
    { start: 1, unshipped: batch(2 * n + 2, row({ id, ...closed, key_name: n % 2 ? 'ann' : null })) },
    // The process died before it shipped the other half. Its successor found those calls open.
    ...(n % 3 === 0
      ? [{ start: 2, unshipped: batch(2 * n + 1, row({ id, ...closed, state: 'interrupted' })) }]
      : []),
  ])
  for (let round = 0; round < 3; round++) {
    const shuffled = batches.map((each) => ({ each, at: Math.random() })).sort((a, b) => a.at - b.at)
    await Promise.all(
      shuffled.map(({ each: { start, unshipped } }) => ship(link, { instance: 'one', start }, unshipped)),
    )
  }
  const found = await rows()
  assert.deepEqual(
    found.map(({ id }) => id),
    [...ids].sort(),
  )
  assert.ok(found.every(({ state }) => state === 'completed' || state === 'interrupted'))
  await checkSharedSums(link)
  // A report about another instance's call changes nothing.
  await ship(link, { instance: 'two', start: 9 }, batch(99, row({ id: ids[0], ...closed, state: 'failed' })))
  assert.deepEqual(await rows(), found)
  await checkSharedSums(link)
})

test('lists, filters, history, shares and sessions add up over all instances (FLEET-06)', {
  skip: NO_POSTGRES,
}, async () => {
  const closed = {
    state: 'completed',
    completed_at: Date.now(),
    latency_ms: 100,
    cost_usd: 1,
    route: 'r6',
    session_id: 'six',
  }
  const ids = Array.from({ length: 10 }, (_, n) => idOf(Date.now() + n))
  for (const [n, id] of ids.entries())
    await ship(
      link,
      { instance: `i${n % 2}`, start: 1 },
      batch(n + 1, row({ id, ...closed, ...(n === 3 && { state: 'failed' }) })),
    )
  const { list, find } = openCallReads(link)
  const first = await list({ route: 'r6' }, { limit: 6 })
  const second = await list({ route: 'r6' }, { limit: 6, cursor: first.next_cursor! })
  assert.deepEqual(
    [...first.data, ...second.data].map(({ id }) => id),
    [...ids].reverse(),
  )
  assert.equal((await list({ route: 'r6', status: 'error' }, { limit: 6 })).data.length, 1)
  assert.equal((await find(ids[0]!))?.attempt_log.length, 1)
  assert.equal(await find('no id'), null)
  const span = { since: Date.now() - 7_200_000, until: Date.now() + 7_200_000 }
  const { history, routing } = openSpanReads(link)
  for (const bucket of [60_000, 3_600_000, 86_400_000]) {
    const { buckets, totals } = await history(span, { ms: bucket }, 'route')
    const mine = buckets.filter(({ by }) => by === 'r6')
    assert.equal(
      mine.reduce((sum, { calls }) => sum + calls, 0),
      10,
    )
    assert.equal(
      mine.reduce((sum, { failed }) => sum + failed, 0),
      1,
    )
    assert.equal(totals.calls, (await rows()).length)
  }
  const { total_calls, top_providers } = await routing(span)
  assert.equal(total_calls, (await rows()).length)
  assert.ok(top_providers[0]!.p50_latency_ms! > 0)
  const { sessions, session, dearest } = openSessionReads(link)
  assert.deepEqual(
    (await dearest(5)).map(({ session_id, cost_usd }) => [session_id, cost_usd]),
    [
      ['six', 10],
      ['s', 0.25 * 40],
    ],
  )
  assert.deepEqual(
    (await sessions({ limit: 5 })).data.map(({ session_id }) => session_id),
    ['six', 's'],
  )
  const six = await session('six')
  assert.equal(six?.calls, 10)
  assert.equal(six?.cost_usd, 10)
  assert.equal(six?.by_model[0]?.calls, 10)
  assert.equal(await session('none'), null)
  // The tables as a release without this column left them.
  await link.script(
    'ALTER TABLE waybill.sessions DROP COLUMN cost_usd; UPDATE waybill.schema SET version = 1',
  )
  await createTables(link)
  await checkSharedSums(link)
})

test('a partly known cost is in the sums of every instance, marked as a minimum (FLEET-06, USE-06)', {
  skip: NO_POSTGRES,
}, async () => {
  const closed = { completed_at: Date.now(), route: 'partial', session_id: 'partial', client: 'agent/1' }
  const calls = [
    { state: 'completed', cost_usd: 0.5, cost_missing: '[]' },
    { state: 'completed', cost_usd: 0.25, cost_missing: '["attempt"]' },
    { state: 'aborted', cost_usd: null, cost_missing: '["attempt"]' },
  ]
  for (const [n, call] of calls.entries())
    await ship(link, { instance: `p${n}`, start: 1 }, batch(1, row({ ...closed, ...call })))
  const expected = { cost_usd: 0.75, cost_is_minimum: true, calls_without_cost: 2, failed: 0, aborted: 1 }
  const check = (sum: object | undefined | null) =>
    assert.deepEqual({ ...sum, ...expected }, sum, JSON.stringify(sum))
  const span = { since: Date.now() - 7_200_000, until: Date.now() + 7_200_000 }
  for (const bucket of [60_000, 3_600_000, 86_400_000]) {
    const { buckets } = await openSpanReads(link).history(span, { ms: bucket }, 'route')
    check(buckets.find(({ by }) => by === 'partial'))
  }
  check(await openSessionReads(link).session('partial'))
  const { list } = openCallReads(link)
  const { data } = await list({ client: 'agent/1' }, { limit: 5 })
  assert.deepEqual(
    data.map(({ cost_missing }) => cost_missing),
    [['attempt'], ['attempt'], []],
  )
  assert.deepEqual((await list({ client: 'agent/1', status: 'error' }, { limit: 5 })).data, [])
  await checkSharedSums(link)
})

test('a release without partial costs can write at the same time as this one, before and after the migration (FLEET-14)', {
  skip: NO_POSTGRES,
}, async () => {
  /** The statement by which the previous release adds to the sums: only its own columns. */
  const asBefore = (series: string) =>
    link.query(
      `INSERT INTO waybill.usage_hours (hour, instance, series, ${OLD_SUMS.join(', ')})
         VALUES (1, 'old', '${series}', ${OLD_SUMS.map(() => '1').join(', ')})`,
    )
  const old = '00000000-0000-0000-0000-00000000000'
  await asBefore(`${old}1`)
  await link.script(`
    ALTER TABLE waybill.usage_hours DROP COLUMN aborted, DROP COLUMN cost_partial;
    ALTER TABLE waybill.calls DROP COLUMN cost_missing, DROP COLUMN client;
    UPDATE waybill.schema SET version = 2`)
  await asBefore(`${old}2`)
  assert.match((await lookAtSchema(link)).problem!, /has schema 2/)
  await createTables(link)
  assert.equal((await lookAtSchema(link)).problem, null)
  await asBefore(`${old}3`)
  await link.script(`DELETE FROM waybill.usage_hours WHERE instance = 'old'`)
  // The remaining calls are counted again. The numbers of partial costs were lost with the column.
  await checkSharedSums(link)
  const { data } = await openCallReads(link).list({ route: 'partial' }, { limit: 5 })
  assert.deepEqual(
    data.map(({ cost_missing, client, cost_usd }) => [cost_missing, client, cost_usd]),
    [
      [null, null, null],
      [null, null, 0.25],
      [null, null, 0.5],
    ],
  )
})

const OLD_SUMS = ['calls', 'failed', 'fell_back'].concat(
  ['tokens_input', 'tokens_output', 'tokens_cached_input', 'tokens_cache_write', 'tokens_reasoning']
    .concat('cost_usd', 'saved_usd')
    .flatMap((name) => [name, `${name}_known`]),
)

test("an object's owner outlives its call in the shared log, until the object is deleted (PASS-03)", {
  skip: NO_POSTGRES,
}, async () => {
  const [first, second, gone] = [0, 1, 2].map((n) => idOf(Date.now() + n))
  const made = (id: string, key_name: string, more: object) => row({ id, key_name, ...more })
  const owners = async () => {
    const makers = await openCallReads(link).objectMakers(['file-1', 'files/a', 'container_1'])
    return Object.fromEntries(makers.map(({ id, key_name }) => [id, key_name]))
  }
  const objects = '["file-1","files/a"]'
  const sender = { instance: 'one', start: 3 }
  await ship(link, sender, batch(1, made(first!, 'alice', { objects, container_id: 'container_1' })))
  await ship(link, sender, batch(2, made(second!, 'bob', { objects, container_id: 'container_1' })))
  assert.deepEqual(await owners(), { 'file-1': 'alice', 'files/a': 'bob', container_1: 'alice' })
  await link.script('DROP TABLE waybill.object_owners; UPDATE waybill.schema SET version = 8')
  await createTables(link)
  await link.query('DELETE FROM waybill.calls WHERE id = ANY(?::uuid[])', [[first, second]])
  assert.deepEqual(await owners(), { 'file-1': 'alice', 'files/a': 'alice', container_1: 'alice' })
  const deletion = { method: 'DELETE', object_id: 'file-1', state: 'completed' }
  await ship(link, sender, batch(3, made(gone!, 'alice', deletion)))
  assert.deepEqual(await owners(), { 'files/a': 'alice', container_1: 'alice' })
})

test('a string that PostgreSQL cannot store does not prevent other rows from reaching the shared log', {
  skip: NO_POSTGRES,
}, async () => {
  const id = idOf(Date.now())
  await ship(
    link,
    { instance: 'one', start: 3 },
    batch(1, row({ id, requested_model: 'a\0b\ud800c', error_code: '\\u0000' })),
  )
  assert.equal((await openCallReads(link).find(id))?.requested_model, 'a\ufffdb\ufffdc')
})

test('a call on a day without a partition creates the partition, or is refused if the gateway may not create one (FLEET-13)', {
  skip: NO_POSTGRES,
}, async () => {
  const past = idOf(Date.now() - 9 * 86_400_000)
  await ship(link, { instance: 'one', start: 4 }, batch(1, row({ id: past })))
  assert.ok(await openCallReads(link).find(past))
  await link.script(
    `CREATE ROLE weak LOGIN; GRANT USAGE ON SCHEMA waybill TO weak; GRANT ALL ON ALL TABLES IN SCHEMA waybill TO weak`,
  )
  const url = `postgresql://weak@/ship?host=${encodeURIComponent(postgres.directory)}`
  const weak = openLink({ url, tls: 'verify' }, 'weak')
  const far = idOf(Date.now() - 19 * 86_400_000)
  await assert.rejects(
    ship(weak, { instance: 'one', start: 4 }, batch(2, row({ id: far }))),
    /permission denied/,
  )
  await weak.close()
})

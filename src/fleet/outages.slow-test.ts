// Outages of the shared log: stopped, killed, frozen, slow, or full. Tests the gateways' behaviour during an
// outage, and that each call is in the log afterwards.

import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { createConnection, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { checkSharedSums } from '../store/postgres/test-shared-log.ts'
import { ask, type TestGateway } from '../test/test-gateway.ts'
import { judgeIdle } from '../test/test-size.ts'
import { until } from '../test/test-until.ts'
import { AUTO, fleetTests, instance, listed, openShared, skip } from './test-fleet.ts'

const fleet = fleetTests()

test('during an outage, calls with durability process or full are each recorded exactly once, and reads fail with 503 instead of returning partial results (FLEET-03, FLEET-15)', {
  skip,
}, async (t) => {
  const url = await fleet.freshDatabase()
  const [one, two] = [await instance(t, url), await instance(t, url, { name: 'two', durability: 'full' })]
  let made = 0
  const call = async (gateway: TestGateway) => {
    assert.equal((await gateway.chat(ask('auto'))).status, 200)
    made++
  }
  const outages: readonly (readonly [string, () => unknown, () => unknown])[] = [
    ['stopped', () => fleet.postgres.stop(), () => fleet.postgres.start()],
    ['killed', () => fleet.postgres.stop('SIGKILL'), () => fleet.postgres.start()],
    ['frozen', () => fleet.postgres.freeze(), () => fleet.postgres.thaw()],
  ]
  for (const [name, begin, end] of outages) {
    await call(one)
    await begin()
    await call(one)
    await call(two)
    const reads = ['/api/usage/request-logs', '/api/usage/history?window=24h', '/api/sessions']
    for (const { status, json } of await Promise.all(reads.map((path) => one.get(path)))) {
      assert.equal(status, 503, name)
      assert.equal(json.error.code, 'log_unavailable')
    }
    assert.equal((await one.get('/api/usage/request-logs?scope=instance')).status, 200)
    assert.equal((await one.get('/readyz')).status, 200, 'process and full take calls')
    await until('health says so', async () =>
      (await one.get('/api/health')).json.findings.some(
        ({ verdict, text }: { verdict: string; text: string }) =>
          verdict === 'BAD' && text.startsWith('the shared log is unavailable, and '),
      ),
    )
    await end()
    await until(
      `all of it, ${name}`,
      async () => (await two.get('/api/usage/request-logs')).json?.data?.length === made,
    )
  }
  assert.equal(one.received() + two.received(), made)
  const link = openShared(t, url)
  assert.deepEqual(await link.query("SELECT count(*) AS n FROM waybill.calls WHERE state = 'completed'"), [
    { n: made },
  ])
  await checkSharedSums(link)
})

/** Waits until a gateway takes calls: on a busy machine, it may start before the shared log has answered. */
const isReady = ({ get }: TestGateway) =>
  until('it takes calls', async () => (await get('/readyz')).status === 200)

test('with durability shared, calls during an outage are refused within 5 s without an inference, and calls resume afterwards (FLEET-03)', {
  skip,
}, async (t) => {
  const url = await fleet.freshDatabase()
  const one = await instance(t, url, { durability: 'shared' })
  await isReady(one)
  assert.equal((await one.chat(ask('auto'))).status, 200)
  const link = openShared(t, url)
  const state = () => link.query<{ state: string }>('SELECT state FROM waybill.calls ORDER BY id')
  assert.equal((await state()).length, 1, 'it was there before the answer')
  for (const [begin, end] of [
    [() => fleet.postgres.freeze(), () => fleet.postgres.thaw()],
    [() => fleet.postgres.stop('SIGKILL'), () => fleet.postgres.start()],
  ] as const) {
    const before = one.received()
    await begin()
    for (let n = 0; n < 3; n++) {
      const began = performance.now()
      const { status, json } = await one.chat(ask('auto'))
      assert.equal(status, 503)
      assert.equal(json.error.code, 'log_unavailable')
      judgeIdle(t, 'refused after, ms', performance.now() - began, 5_500)
    }
    assert.equal((await one.get('/readyz')).status, 503)
    assert.equal(one.received(), before)
    await end()
    await isReady(one)
    assert.equal((await one.chat(ask('auto'))).status, 200)
  }
  await until('the three calls that were made are completed, and no other is open', async () => {
    const states = (await state()).map(({ state }) => state)
    return states.filter((each) => each === 'completed').length === 3 && !states.includes('routed')
  })
  assert.equal(one.received(), 3)
  await checkSharedSums(link)
})

test('a gateway starts without the shared log and joins the fleet when the log becomes reachable (FLEET-03)', {
  skip,
}, async (t) => {
  const url = await fleet.freshDatabase('empty')
  await fleet.postgres.stop()
  const one = await instance(t, url)
  assert.equal((await one.chat(ask('auto'))).status, 200)
  await fleet.postgres.start()
  await until('it has joined', async () => (await one.get('/readyz')).json.fleet.shared_log === 'ready')
  assert.equal((await listed(one)).length, 1)
})

test('when the spool is full, calls are refused, no row is dropped, and waiting rows are not deleted (FLEET-04)', {
  skip,
}, async (t) => {
  const url = await fleet.freshDatabase()
  const one = await instance(t, url, {
    fleet: 'spool: { calls: 30 }',
    config: `retention: { rows: 5 }\n${AUTO}`,
  })
  await fleet.postgres.stop()
  const statuses: number[] = []
  for (let n = 0; n < 40; n++) statuses.push((await one.chat(ask('auto'))).status)
  const taken = statuses.filter((status) => status === 200).length
  assert.ok(taken >= 20 && taken <= 30, `${taken} calls were taken`)
  assert.equal(one.received(), taken)
  const { status, text } = await one.get('/readyz')
  assert.equal(status, 503)
  assert.match(text, /the spool holds 30/)
  await fleet.postgres.start()
  await isReady(one)
  assert.equal((await listed(one)).length, taken)
  await checkSharedSums(openShared(t, url))
})

/** Starts a proxy that delays the database's answers. Returns the proxy's address. */
async function lateBy(t: TestContext, url: string, ms: () => number): Promise<string> {
  const directory = mkdtempSync(join(tmpdir(), 'waybill-late-'))
  const server = createServer((near) => {
    const far = createConnection(join(fleet.postgres.directory, '.s.PGSQL.5432'))
    let last = Promise.resolve()
    near.pipe(far)
    far.on('data', (chunk) => {
      last = Promise.all([last, sleep(ms())]).then(() => void near.write(chunk))
    })
    for (const [one, other] of [
      [near, far],
      [far, near],
    ] as const)
      one.on('error', () => {}).on('close', () => other.destroy())
  }).listen(join(directory, '.s.PGSQL.5432'))
  t.after(() => {
    server.close()
    rmSync(directory, { recursive: true, force: true })
  })
  return url.replace(encodeURIComponent(fleet.postgres.directory), encodeURIComponent(directory))
}

test('with a slow shared log, durability process delays no calls, durability shared delays or refuses them within 5 s, and each call is recorded once (FLEET-03)', {
  skip,
}, async (t) => {
  const direct = await fleet.freshDatabase()
  let late = 0
  const url = await lateBy(t, direct, () => late)
  const link = openShared(t, direct)
  const [one, two] = [await instance(t, url), await instance(t, url, { name: 'two', durability: 'shared' })]
  const call = async (gateway: TestGateway) => {
    const began = performance.now()
    const { status } = await gateway.chat(ask('auto'))
    return { status, ms: performance.now() - began }
  }
  await isReady(two)
  assert.equal((await call(two)).status, 200) // connects, and prepares its statements
  late = 300
  const slow = await call(two)
  assert.equal(slow.status, 200)
  assert.ok(slow.ms >= late, `${slow.ms} ms: it did not wait`)
  late = 6_000
  const refused = await call(two)
  assert.equal(refused.status, 503)
  judgeIdle(t, 'refused after, ms', refused.ms, 5_500)
  const quick = await call(one)
  assert.equal(quick.status, 200)
  assert.ok(quick.ms < late, `${quick.ms} ms: it waited`)
  assert.equal(two.received(), 2)
  late = 0
  const made = () =>
    link.query<{ n: number }>("SELECT count(*) AS n FROM waybill.calls WHERE state = 'completed'")
  await until('all of it', async () => (await made())[0]!.n === 3)
  await until('it takes calls again', async () => (await call(two)).status === 200)
  await until('that too', async () => (await made())[0]!.n >= 4)
  assert.equal(one.received() + two.received(), (await made())[0]!.n)
  await checkSharedSums(link)
})

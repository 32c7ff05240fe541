// Chores of upkeep of the shared log, in PostgreSQL, by the gateways themselves: each is done, and one that fails ends
// no other and shows on Health, in the metrics and in `waybill doctor`.
import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import type { Link } from '../store/postgres/link.ts'
import { comingDays, lowestId, makePartitions, partitionOf } from '../store/postgres/schema.ts'
import { runCli } from '../test/test-cli.ts'
import { temporaryDirectory } from '../test/test-gateway.ts'
import { until } from '../test/test-until.ts'
import { fleetTests, instance, openShared, skip } from './test-fleet.ts'

const { freshDatabase } = fleetTests()
const DAY = 86_400_000

/** Rows that each chore must delete, and their number afterwards. */
const LEFT: Readonly<Record<string, string>> = {
  delete_shared_calls: `SELECT count(*) AS n FROM pg_inherits WHERE inhparent = 'waybill.calls'::regclass`,
  delete_shared_sums: `SELECT (SELECT count(*) FROM waybill.latency_hours) + (SELECT count(*) FROM waybill.conversations)
    + (SELECT count(*) FROM waybill.cooldowns) + (SELECT count(*) FROM waybill.rates) AS n`,
  delete_shared_histories: 'SELECT count(*) AS n FROM waybill.sessions',
  delete_shared_responses: 'SELECT count(*) AS n FROM waybill.kept_responses',
}

/** Fills a shared log with what is older than three days, and removes the partitions of coming days. */
async function fill(link: Link): Promise<void> {
  const now = Date.now()
  const old = now - 9 * DAY
  await makePartitions(link, [old, old + DAY, now - DAY])
  await link.script(
    comingDays(now)
      .slice(1)
      .map((day) => `DROP TABLE IF EXISTS waybill.${partitionOf(day).name};`)
      .join('\n'),
  )
  await link.query('INSERT INTO waybill.latency_hours VALUES (?, ?, ?, ?, 1, 1)', [
    ...[Math.floor(old / 3_600_000), 'one', 'alpha', ''],
  ])
  await link.query(
    `INSERT INTO waybill.sessions SELECT 's-' || n, '', 'one', (?::text || lpad(to_hex(n), 12, '0'))::uuid FROM generate_series(1, 30) AS n`,
    [lowestId(old).slice(0, -12)],
  )
  // A conversation whose last response expired, one that continues, and another key with the same ids.
  const keep = (id: string, key: string, previous: string | null, expiresAt: number) =>
    link.query(`INSERT INTO waybill.kept_responses VALUES (?, ?, ?, ?, 'sealed')`, [
      id,
      key,
      previous,
      expiresAt,
    ])
  for (const [key, end] of [
    ['a', old],
    ['b', now + DAY],
  ] as const) {
    await keep('resp_1', key, null, old)
    await keep('resp_2', key, 'resp_1', old + 1)
    await keep('resp_3', key, 'resp_2', end)
  }
  await link.query(
    `INSERT INTO waybill.kept_responses SELECT 'many-' || n, '', NULL, ?, 'sealed' FROM generate_series(1, 2500) AS n`,
    [old],
  )
}

const count = async (link: Link, chore: string): Promise<number> =>
  Number((await link.query<{ n: number }>(LEFT[chore]!))[0]!.n)

async function healthOf(t: TestContext, url: string) {
  const gateway = await instance(t, url, { fleet: 'days: 3' })
  const health = async () => (await gateway.get('/api/health')).json
  return { ...gateway, health }
}

test('each chore of the shared log is done: coming days are made, and everything old is deleted (FLEET-13)', {
  skip,
}, async (t) => {
  const url = await freshDatabase()
  const link = openShared(t, url)
  await fill(link)
  const { health, get } = await healthOf(t, url)
  await until('responses are deleted', async () => (await count(link, 'delete_shared_responses')) === 3)
  await until('days are dropped', async () => (await count(link, 'delete_shared_calls')) === 5)
  await until('sessions are deleted', async () => (await count(link, 'delete_shared_histories')) === 0)
  await until('sums are deleted', async () => (await count(link, 'delete_shared_sums')) === 0)
  assert.deepEqual(
    await link.query('SELECT id, key_name FROM waybill.kept_responses ORDER BY id'),
    ['resp_1', 'resp_2', 'resp_3'].map((id) => ({ id, key_name: 'b' })),
  )
  const { failing_chores, findings } = await health()
  assert.deepEqual(failing_chores, [])
  assert.ok(findings.some(({ text }: { text: string }) => /every chore of upkeep works/.test(text)))
  const { text } = await get('/metrics')
  assert.equal(text.match(/^waybill_chore_failing\{chore="\w+"\} 0$/gm)?.length, 12)
})

const BROKEN: Readonly<Record<string, string>> = {
  delete_shared_responses: 'ALTER TABLE waybill.kept_responses RENAME TO elsewhere',
  delete_shared_sums: 'ALTER TABLE waybill.latency_hours RENAME COLUMN hour TO hours',
  delete_shared_histories: 'ALTER TABLE waybill.leases RENAME TO elsewhere',
  delete_shared_calls: 'CREATE VIEW waybill.looking AS SELECT * FROM waybill.DAY',
}
for (const [broken, sql] of Object.entries(BROKEN))
  test(`if ${broken} fails, the other chores are done, and Health, metrics and doctor name it`, {
    skip,
  }, async (t) => {
    const url = await freshDatabase()
    const link = openShared(t, url)
    await fill(link)
    await link.script(sql.replace('DAY', partitionOf(Date.now() - 9 * DAY).name))
    const { health, get, url: address, data } = await healthOf(t, url)
    const [failing] = await until('the failure shows', async () => {
      const { failing_chores } = await health()
      return failing_chores.length > 0 && failing_chores
    })
    assert.equal(failing.chore, broken)
    const done = {
      delete_shared_calls: 5,
      delete_shared_sums: 0,
      delete_shared_histories: 0,
      delete_shared_responses: 3,
    }
    for (const [chore, left] of Object.entries(done))
      if (chore !== broken) await until(`${chore} is done`, async () => (await count(link, chore)) === left)
    const { findings } = await health()
    const bad = findings.filter(({ verdict }: { verdict: string }) => verdict === 'BAD')
    assert.deepEqual([bad.length, bad[0].text.includes(failing.reason)], [1, true])
    const { text } = await get('/metrics')
    assert.deepEqual(text.match(/^waybill_chore_failing\{.* 1$/gm), [
      `waybill_chore_failing{chore="${broken}"} 1`,
    ])
    const config = join(temporaryDirectory(t), 'waybill.yaml')
    writeFileSync(
      config,
      `server: { port: ${new URL(address).port} }\ndata: ${data}\nfleet: { url: $FLEET_URL, days: 3 }\nproviders: { alpha: { dialect: chat, base_url: "http://127.0.0.1:9" } }\nroutes: { auto: { targets: [ { model: alpha/model-a } ] } }\n`,
    )
    const { stdout } = await runCli(['doctor', '-c', config], { env: { FLEET_URL: url } })
    assert.match(stdout, new RegExp(`^BAD  .*\\(${broken}, since `, 'm'))
    if (broken === 'delete_shared_calls')
      assert.match(stdout, /^BAD {2}the shared log still has 2 days older than 3 days/m)
  })

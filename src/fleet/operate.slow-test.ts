// Situations of operators: commands, few connections, a connection pooler, two releases side by side, and no
// configured fleet. Over 250 lines, because it is a list of cases, most of them on one PostgreSQL.

import assert from 'node:assert/strict'
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { chownSync, existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import Database from 'better-sqlite3'
import { dropEmptySessions, dropOldDays, dropOldSums, missingDays } from '../store/postgres/retention.ts'
import {
  comingDays,
  createTables,
  lookAtSchema,
  lowestId,
  makePartitions,
  SHARED_SCHEMA_VERSION,
} from '../store/postgres/schema.ts'
import { checkSharedSums } from '../store/postgres/test-shared-log.ts'
import { runCli } from '../test/test-cli.ts'
import { ask, temporaryDirectory } from '../test/test-gateway.ts'
import { IS_REQUIRED } from '../test/test-postgres.ts'
import { until } from '../test/test-until.ts'
import { fleetTests, listed, openShared, skip, instance as start } from './test-fleet.ts'

const fleet = fleetTests()
const { freshDatabase } = fleet
const ROUTES = 'routes: { auto: { targets: [ { model: alpha/model-a } ] } }'

const instance = (t: TestContext, url: string, name: string, durability = 'process') =>
  start(t, url, { name, durability, config: ROUTES })

/** Runs a command while the gateways of this process go on, which must say that they are alive. */
async function waybill(t: TestContext, url: string, ...args: string[]) {
  const config = join(temporaryDirectory(t), 'waybill.yaml')
  writeFileSync(
    config,
    `data: ${join(config, '../data')}\nfleet: { url: $FLEET_URL }\nproviders: { alpha: { dialect: chat, base_url: "http://127.0.0.1:9" } }\n${ROUTES}\n`,
  )
  const { stdout, stderr, code } = await runCli([...args, '--config', config], { env: { FLEET_URL: url } })
  return { text: stdout + stderr, code }
}

test('`waybill fleet migrate` creates tables, `status` lists members, and `forget` closes the open calls of a lost member', {
  skip,
}, async (t) => {
  const url = await freshDatabase('empty')
  assert.match((await waybill(t, url, 'fleet', 'status')).text, /no Waybill tables; `waybill fleet migrate`/)
  assert.deepEqual((await waybill(t, url, 'fleet', 'migrate')).code, 0)
  assert.match((await waybill(t, url, 'fleet', 'status')).text, /no gateway has joined yet/)
  const one = await instance(t, url, 'one')
  await one.chat(ask('auto'))
  await one.get('/api/usage/request-logs')
  const link = openShared(t, url)
  // Simulates a gateway that died during its call and lost its disk.
  await link.script(`UPDATE waybill.calls SET completed_at = NULL, state = 'routed', cost_missing = NULL;
    DELETE FROM waybill.usage_hours; DELETE FROM waybill.latency_hours;
    INSERT INTO waybill.instances SELECT 'dead', 'lost', 'x', 1, now() - interval '1 hour', now(), version, config FROM waybill.instances;
    UPDATE waybill.calls SET instance = 'dead';
    INSERT INTO waybill.budgets VALUES ('ann', '2026-11', 5); INSERT INTO waybill.leases VALUES ('ann', '2026-11', 'dead', 2);
    INSERT INTO waybill.key_spending VALUES ('ann', '2026-11', 'dead', 0.5, 0)`)
  const status = (await waybill(t, url, 'fleet', 'status')).text
  assert.match(status, /alive one .*0 open/)
  assert.match(status, /gone {2}lost .*1 open/)
  assert.match((await waybill(t, url, 'doctor')).text, /note lost was last seen .* with 1 open calls/)
  assert.match((await waybill(t, url, 'fleet', 'forget', 'one')).text, /is alive; stop it first/)
  assert.match((await waybill(t, url, 'fleet', 'forget', 'nobody')).text, /no instance is called/)
  assert.match((await waybill(t, url, 'fleet', 'forget', 'lost')).text, /1 open calls are interrupted/)
  assert.deepEqual(await link.query('SELECT state, cost_missing FROM waybill.calls'), [
    { state: 'interrupted', cost_missing: '["attempt"]' },
  ])
  assert.deepEqual(await link.query('SELECT granted FROM waybill.budgets'), [{ granted: 3.5 }])
  await checkSharedSums(link)
  assert.match(
    (await waybill(t, url, 'doctor')).text,
    new RegExp(
      `ok {3}the shared log answers \\(schema ${SHARED_SCHEMA_VERSION}\\); 1 of 1 gateways are alive`,
    ),
  )
})

test('retention deletes whole days with their sums, and `waybill doctor` reports a day without a partition (FLEET-13)', {
  skip,
}, async (t) => {
  const link = openShared(t, await freshDatabase('empty'))
  await createTables(link)
  const now = Date.now()
  const days = Array.from({ length: 6 }, (_, n) => now - n * 86_400_000)
  assert.equal((await missingDays(link, comingDays(now))).length, 4)
  await makePartitions(link, [...days, ...comingDays(now)])
  assert.deepEqual(await missingDays(link, comingDays(now)), [])
  const hour = Math.floor(days[5]! / 3_600_000)
  await link.query('INSERT INTO waybill.latency_hours VALUES (?, ?, ?, ?, 1, 1)', [hour, 'one', 'alpha', ''])
  assert.equal((await dropOldDays(link, now, 3)).length, 2)
  assert.deepEqual(await dropOldDays(link, now, 3), [])
  await dropOldSums(link, now, 3)
  assert.deepEqual(await link.query('SELECT count(*) AS n FROM waybill.latency_hours'), [{ n: 0 }])
  await link.query(
    `INSERT INTO waybill.sessions SELECT 's-' || n, '', 'one', (?::text || lpad(to_hex(n), 12, '0'))::uuid FROM generate_series(1, 1500) AS n`,
    [lowestId(days[5]!).slice(0, -12)],
  )
  await link.script(`INSERT INTO waybill.key_spending VALUES ('', 'session s-7', 'one', 1, 0), ('', 'session s-1200', 'one', 1, 0);
    INSERT INTO waybill.leases VALUES ('', 'session s-7', 'one', 1);
    INSERT INTO waybill.budgets VALUES ('', 'session s-7', 1), ('', '2026-11', 1)`)
  // One of the conversations continues today.
  await link.query(
    `INSERT INTO waybill.calls (id, instance, rev, session_id) VALUES (?, 'one', 1, 's-1200')`,
    [lowestId(now)],
  )
  await dropEmptySessions(link, now, 3)
  assert.deepEqual(await link.query('SELECT session_id FROM waybill.sessions'), [{ session_id: 's-1200' }])
  assert.deepEqual(await link.query('SELECT month FROM waybill.key_spending'), [{ month: 'session s-1200' }])
  assert.deepEqual(await link.query('SELECT month FROM waybill.leases'), [])
  assert.deepEqual(await link.query('SELECT month FROM waybill.budgets'), [{ month: '2026-11' }])
})

test('an instance has at most three connections, even under load (FLEET-12)', { skip }, async (t) => {
  const url = await freshDatabase()
  const link = openShared(t, url)
  const one = await instance(t, url, 'one', 'shared')
  await link.query('SELECT 1') // connects before the load
  let most = 0
  const load = Promise.all(
    Array.from({ length: 100 }, async (_, n) => {
      await (n % 3 ? one.chat(ask('auto')) : one.get('/api/usage/request-logs'))
    }),
  )
  for (let looks = 0; looks < 20; looks++) {
    const [{ n }] = (await link.query<{ n: number }>(
      `SELECT count(*) AS n FROM pg_stat_activity WHERE datname = current_database() AND application_name <> 'waybill look'`,
    )) as [{ n: number }]
    most = Math.max(most, n)
    await sleep(10)
  }
  await load
  assert.ok(most >= 1 && most <= 3, `${most} connections`)
})

const PGBOUNCER = '/usr/sbin/pgbouncer'
const NO_PGBOUNCER = 'there is no pgbouncer on this machine: apt-get install pgbouncer'
const noPooler = skip || (existsSync(PGBOUNCER) || IS_REQUIRED ? false : NO_PGBOUNCER)

test('a fleet works through pgbouncer in transaction mode (FLEET-12)', { skip: noPooler }, async (t) => {
  assert.ok(existsSync(PGBOUNCER), NO_PGBOUNCER)
  const direct = await freshDatabase()
  const name = new URL(direct.replace('@/', '@localhost/')).pathname.slice(1)
  const directory = mkdtempSync(join(tmpdir(), 'waybill-pool-'))
  const owner = spawnSync('stat', ['-c', '%u', fleet.postgres.directory], { encoding: 'utf8' }).stdout.trim()
  chownSync(directory, Number(owner), Number(owner))
  const config = join(directory, 'pgbouncer.ini')
  writeFileSync(
    config,
    `[databases]\n${name} = host=${fleet.postgres.directory} dbname=${name} user=waybill\n[pgbouncer]\nlisten_addr =\nunix_socket_dir = ${directory}\nlisten_port = 5432\nauth_type = any\npool_mode = transaction\ndefault_pool_size = 2\n`,
  )
  const pooler: ChildProcess = spawn(PGBOUNCER, ['-q', config], {
    ...(process.getuid?.() === 0 && { uid: Number(owner) }),
    stdio: 'ignore',
  })
  t.after(() => {
    pooler.kill('SIGKILL')
    rmSync(directory, { recursive: true, force: true })
  })
  await until('PostgreSQL listens', () => existsSync(join(directory, '.s.PGSQL.5432')))
  const url = `postgresql://waybill@/${name}?host=${encodeURIComponent(directory)}`
  const [one, two] = [await instance(t, url, 'one', 'shared'), await instance(t, url, 'two')]
  for (let n = 0; n < 10; n++) assert.equal((await (n % 2 ? one : two).chat(ask('auto'))).status, 200)
  assert.equal((await two.get('/readyz')).json.fleet.instances, 2)
  const shared = async () => (await one.get('/api/usage/request-logs')).json.data.length
  await until('all calls are in the shared log', async () => (await shared()) >= 10)
  assert.equal(await shared(), 10)
  await checkSharedSums(openShared(t, direct))
})

test('after a newer release migrates the shared log, an older release continues to work, and a release that is too old is refused (FLEET-14)', {
  skip,
}, async (t) => {
  const url = await freshDatabase()
  const link = openShared(t, url)
  const one = await instance(t, url, 'one')
  await one.chat(ask('auto'))
  // Simulates a newer release that added a column and a step.
  await link.script('ALTER TABLE waybill.calls ADD COLUMN later text; UPDATE waybill.schema SET version = 99')
  assert.equal((await lookAtSchema(link)).problem, null)
  await one.chat(ask('auto'))
  const two = await instance(t, url, 'two')
  await two.chat(ask('auto'))
  assert.equal((await two.get('/api/usage/request-logs')).json.data.length, 3)
  // Simulates rows of an older release without a column. The missing values read as unknown.
  await link.script('UPDATE waybill.calls SET purpose = NULL')
  assert.equal((await one.get('/api/usage/history?window=24h')).json.totals.calls, 3)
  await link.script('UPDATE waybill.schema SET oldest = 99')
  const old = await instance(t, url, 'three')
  assert.equal((await old.get('/readyz')).json.fleet.shared_log, 'unavailable')
  assert.match(
    (await waybill(t, url, 'fleet', 'status')).text,
    /made by a newer Waybill .*; update this gateway/,
  )
})

test('reads write nothing to the shared log or the journal (FLEET-15)', {
  skip,
}, async (t) => {
  const url = await freshDatabase()
  const link = openShared(t, url)
  const one = await instance(t, url, 'one')
  const { headers } = await one.chat(ask('auto'), { 'x-session-id': 's-1' })
  const id = headers.get('x-gateway-request-id')
  await one.record(id)
  const db = new Database(join(one.data, 'waybill.db'), { readonly: true })
  t.after(() => db.close())
  /**
   * Returns the version of each row by its place. An instance's heartbeat writes its own row in `instances`.
   */
  const standing = async () => {
    const tables = await link.query<{ name: string }>(
      `SELECT relname AS name FROM pg_class WHERE relnamespace = 'waybill'::regnamespace AND relkind = 'r' AND relname <> 'instances'`,
    )
    const shared = tables.map(({ name }) =>
      link.query(
        `SELECT '${name}' AS name, count(*) AS rows, string_agg(ctid::text || xmin::text, ' ' ORDER BY ctid) AS versions FROM waybill.${name}`,
      ),
    )
    const { seq } = db.prepare("SELECT seq FROM sqlite_sequence WHERE name = 'outbox'").get() as {
      seq: number
    }
    return {
      shared: (await Promise.all(shared)).flat(),
      seq,
      calls: db.prepare('SELECT * FROM call_logs').all(),
    }
  }
  await listed(one) // the call is shipped
  const before = await standing()
  assert.ok(before.shared.some(({ name, rows }) => name === 'usage_hours' && rows === 1))
  for (const path of [
    '/api/usage/request-logs',
    '/api/usage/request-logs?status=ok&model=model-a',
    `/api/usage/request-logs/${id}`,
    `/api/usage/request-logs/${id}/artifact`,
    '/api/usage/logs',
    '/api/usage/history?window=30d&by=model',
    '/api/usage/export',
    '/api/sessions',
    '/api/sessions?order=cost',
    '/api/sessions/s-1',
    '/api/analytics/auto-routing',
    '/api/routes',
    '/api/keys',
    '/api/health',
    '/api/statusline?session_id=s-1',
    '/api/cloud/model/resolve?model=auto',
    '/metrics',
    '/readyz',
  ])
    assert.equal((await one.get(path)).status, 200, path)
  assert.deepEqual(await standing(), before)
})

test('without `fleet:` and `telemetry:`, none of their code is loaded and nothing is written (FLEET-16, TRACE-06)', async (t) => {
  const data = temporaryDirectory(t)
  const directory = temporaryDirectory(t)
  const config = join(directory, 'waybill.yaml')
  writeFileSync(
    config,
    `server: { port: 0 }\ndata: ${data}\nproviders: { alpha: { dialect: chat, base_url: "http://127.0.0.1:9" } }\n${ROUTES}\n`,
  )
  const gateway = spawn(
    process.execPath,
    ['--trace-event-categories=none', 'src/cli.ts', 'serve', '--config', config],
    {
      cwd: join(import.meta.dirname, '../..'),
      env: {
        ...process.env,
        OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:9',
        NODE_V8_COVERAGE: join(directory, 'coverage'),
      },
      stdio: ['ignore', 'pipe', 'ignore'],
    },
  )
  const url = await new Promise<string>((resolve, reject) => {
    let said = ''
    gateway.once('exit', (code) => reject(new Error(`exit code ${code}`)))
    gateway.stdout.on('data', (text) => {
      said += text
      const found = /listens on ([^\s"]+)/.exec(said)?.[1]
      if (found) resolve(found)
    })
  })
  const response = await fetch(`${url}/v1/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(ask('auto')),
  })
  await response.text()
  const exit = new Promise((resolve) => gateway.once('exit', resolve))
  gateway.kill('SIGTERM')
  await exit
  const loaded = spawnSync(
    'grep',
    [
      '-rlE',
      'src/(fleet|store/postgres|telemetry)/|node_modules/(pg|@opentelemetry)/',
      join(directory, 'coverage'),
    ],
    { encoding: 'utf8' },
  )
  assert.equal(loaded.stdout, '', 'no module of it was loaded')
  assert.match(
    spawnSync('grep', ['-rlE', 'src/call/pipeline.ts', join(directory, 'coverage')], { encoding: 'utf8' })
      .stdout,
    /coverage/,
  )
  const db = new Database(join(data, 'waybill.db'), { readonly: true })
  t.after(() => db.close())
  assert.equal(db.prepare('SELECT count(*) FROM call_logs').pluck().get(), 1)
  assert.equal(db.prepare('SELECT count(*) FROM outbox').pluck().get(), 0)
  assert.equal(
    db.prepare("SELECT count(*) FROM sqlite_sequence WHERE name = 'outbox'").pluck().get(),
    0,
    'never used',
  )
})

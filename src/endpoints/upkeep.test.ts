// Chores of upkeep of a single gateway: one that fails ends no other and no call, shows on Health, in the metrics and
// in `waybill doctor`, and no longer shows once it works.
import assert from 'node:assert/strict'
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import Database from 'better-sqlite3'
import { answer } from '../../mocks/test-upstream.ts'
import { ArtifactBuffer } from '../store/artifact-buffer.ts'
import { databaseFile } from '../store/sqlite/open.ts'
import { runCli } from '../test/test-cli.ts'
import { AUTO, ask, type Setup, temporaryDirectory, testGateway } from '../test/test-gateway.ts'
import { until } from '../test/test-until.ts'

const RETENTION = 'retention: { rows: 1 }'
/** Makes a data directory with three calls, two more than may stay, and a response that has expired. `sql`: a change that breaks a chore. */
async function oldData(t: TestContext, sql = ''): Promise<string> {
  const data = temporaryDirectory(t)
  const before = await testGateway(t, { data })
  for (let calls = 0; calls < 3; calls++) await before.chat(ask('auto'))
  await before.gateway.close()
  const db = new Database(databaseFile(data))
  db.exec(`INSERT INTO kept_responses VALUES ('resp_1', '', NULL, 1, 6, 'sealed'); ${sql}`)
  db.close()
  return data
}

async function start(t: TestContext, setup: Setup) {
  const gateway = await testGateway(t, { config: `${AUTO}\n${RETENTION}\n`, ...setup })
  const failing = async (): Promise<string[]> =>
    (await gateway.get('/api/health')).json.failing_chores.map(({ chore }: { chore: string }) => chore)
  const rows = (table: string) => {
    const db = new Database(databaseFile(gateway.data), { readonly: true })
    const n = db.prepare(`SELECT count(*) FROM ${table}`).pluck().get()
    db.close()
    return Number(n)
  }
  return { ...gateway, failing, rows }
}

const refuse = (table: string) =>
  `CREATE TRIGGER broken BEFORE DELETE ON ${table} BEGIN SELECT RAISE(ABORT, 'it is broken'); END`

for (const [broken, table, chore, other] of [
  ['responses', 'kept_responses', 'delete_responses', 'call_logs'],
  ['calls', 'call_logs', 'delete_calls', 'kept_responses'],
] as const)
  test(`if old ${broken} cannot be deleted, calls continue, other chores are done, and the failure shows until it is over`, async (t) => {
    const data = await oldData(t, refuse(table))
    const { failing, rows, get, chat, url } = await start(t, { data })
    await until('the failure shows', async () => (await failing()).length > 0)
    assert.deepEqual(await failing(), [chore])
    await until(`${other} has lost what was too much`, () => rows(other) <= 1)
    assert.equal((await chat(ask('auto'))).status, 200)
    const { findings, failing_chores } = (await get('/api/health')).json
    const bad = findings.filter(({ verdict }: { verdict: string }) => verdict === 'BAD')
    assert.deepEqual([bad.length, failing_chores[0].reason], [1, 'it is broken'])
    assert.match(
      (await get('/metrics')).text,
      new RegExp(`^waybill_chore_failing\\{chore="${chore}"\\} 1$`, 'm'),
    )
    const config = join(temporaryDirectory(t), 'waybill.yaml')
    const { port } = new URL(url)
    writeFileSync(
      config,
      `server: { port: ${port} }\ndata: ${data}\nproviders: { alpha: { dialect: chat, base_url: "http://127.0.0.1:9" } }\nroutes: { auto: { targets: [ { model: alpha/m } ] } }\n`,
    )
    const { stdout, code } = await runCli(['doctor', '-c', config])
    assert.match(stdout, /^BAD {2}old|^BAD {2}expired/m)
    assert.match(stdout, new RegExp(`\\(${chore}, since 2.*\\): it is broken$`, 'm'))
    assert.equal(code, 1)
  })

test('a chore that works again is no longer shown', async (t) => {
  const data = await oldData(t, refuse('call_logs'))
  const { failing, rows } = await start(t, { data })
  await until('the failure shows', async () => (await failing()).length > 0)
  const db = new Database(databaseFile(data))
  db.exec('DROP TRIGGER broken')
  db.close()
  await until('it is over', async () => (await failing()).length === 0)
  assert.equal(rows('call_logs'), 1)
})

test('refusals that cannot be stored show on Health, and are still applied', async (t) => {
  const error = { message: "Unsupported parameter: 'seed'", type: 'invalid_request_error', param: 'seed' }
  const { failing, chat, data, get } = await start(t, {
    providers: {
      alpha: (response, received) =>
        (received.json as any).seed === undefined
          ? answer()(response, received)
          : void response
              .writeHead(400, { 'content-type': 'application/json' })
              .end(JSON.stringify({ error })),
    },
    config: 'routes: { auto: { on_refused: adjust, targets: [ { model: alpha/m } ] } }',
  })
  const place = join(data, 'learned-refusals.json.next')
  mkdirSync(join(place, 'in-the-way'), { recursive: true })
  assert.equal((await chat({ ...ask('auto'), seed: 3 })).status, 200)
  assert.deepEqual(await failing(), ['store_refusals'])
  assert.equal((await get('/api/models/refusals')).json.data.length, 1)
  rmSync(place, { recursive: true })
})

test('artifacts that cannot be stored delay no others, and the failure is reported', async () => {
  const stored: string[] = []
  const ends: (string | null)[] = []
  const buffer = new ArtifactBuffer(
    { keep: 100, bytes: 2 ** 20 },
    async (artifacts) => {
      if (artifacts.some(({ json }) => json === 'bad')) throw new Error('it is refused')
      stored.push(...artifacts.map(({ callId }) => callId))
    },
    (failure) => ends.push(failure),
  )
  for (let n = 0; n < 60; n++)
    buffer.add(`c${n}`, 1, () => {
      if (n === 26) throw new RangeError('Invalid string length')
      return n === 0 ? 'bad' : 'good'
    })
  await buffer.drain()
  assert.deepEqual([stored.length, stored[0], ends], [10, 'c50', ['Invalid string length']])
})

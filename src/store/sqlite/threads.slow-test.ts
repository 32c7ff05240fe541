// LIFE-04, LOG-07, LOG-11: a thread of the store that dies is restarted. Meanwhile reads report it. Calls
// continue while they can be recorded, and are refused while they cannot. Nothing is spent unrecorded or
// charged twice. Over 250 lines, because each thread dies at each moment that matters.

import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { renameSync } from 'node:fs'
import { type TestContext, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import type { Worker } from 'node:worker_threads'
import Database from 'better-sqlite3'
import { answer, fail } from '../../../mocks/test-upstream.ts'
import { emptyCall, idOf } from '../../core/call.ts'
import { SILENT } from '../../core/process-log.ts'
import {
  AUTO,
  ask,
  type Setup,
  type TestGateway,
  TWO_TARGETS,
  temporaryDirectory,
  testGateway,
} from '../../test/test-gateway.ts'
import { until } from '../../test/test-until.ts'
import type { StoreOptions } from '../store.ts'
import { databaseFile } from './open.ts'
import { openStore } from './open-store.ts'
import { checkReferences, checkRollUps } from './test-database.ts'

/** A gateway, its messages at level error, and a function that ends its threads. */
async function mortal(t: TestContext, setup: Setup = {}) {
  const threads = new Map<string | null, Worker>()
  const note = (worker: Worker) => void threads.set(worker.threadName, worker)
  process.on('worker', note)
  t.after(() => process.off('worker', note))
  const said: string[] = []
  const log = {
    ...SILENT,
    error: (fields: object, text: string) => said.push(`${text} ${JSON.stringify(fields)}`),
  }
  const gateway = await testGateway(t, { ...setup, options: { log, threads: true, ...setup.options } })
  return {
    ...gateway,
    said,
    end: (name: string) => threads.get(name)!.terminate(),
    endOver: (name: string, answer: number) => endOver(threads.get(name)!, answer),
  }
}

/** Ends a thread just before one of its next answers. The request was carried out, but its answer is lost. */
function endOver(worker: Worker, answer: number): void {
  const emit = worker.emit
  let left = answer
  worker.emit = (name: string, ...said: unknown[]) => {
    if (name !== 'message' || --left > 0) return emit.call(worker, name, ...said)
    void worker.terminate()
    return true
  }
}

const options = (directory: string): StoreOptions => ({
  directory,
  durability: 'process',
  retention: { rows: 100, days: 30, bytes: 2 ** 30 },
  artifacts: { keep: 0, bytes: 0 },
})

const readable = async ({ get }: TestGateway) => (await get('/readyz')).json.reads === 'ready'

test('a dead reader is restarted; open reads are refused, while calls continue and are recorded (LOG-11)', async (t) => {
  const gateway = await mortal(t)
  assert.equal((await gateway.chat(ask('auto'))).status, 200)
  assert.equal((await gateway.get('/api/usage/request-logs')).status, 200, 'the first read starts the reader')
  const reads = Array.from({ length: 20 }, () => gateway.get('/api/usage/request-logs'))
  await gateway.end('reader')
  for (const { status, json } of await Promise.all(reads))
    if (status !== 200) assert.deepEqual([status, json.error.code], [503, 'log_unavailable'])

  const { status, json } = await gateway.get('/api/usage/request-logs')
  assert.deepEqual([status, json.error.code, typeof json.request_id], [503, 'log_unavailable', 'string'])
  const ready = await gateway.get('/readyz')
  assert.deepEqual([ready.status, ready.json.reads], [200, 'restarting'])
  assert.match((await gateway.get('/metrics')).text, /^waybill_record_readable 0$/m)
  const meanwhile = await gateway.chat(ask('auto'))
  assert.equal(meanwhile.status, 200)

  await until('readable again', () => readable(gateway))
  assert.equal((await gateway.record(meanwhile.headers.get('x-gateway-request-id'))).state, 'completed')
  assert.match((await gateway.get('/metrics')).text, /^waybill_record_readable 1$/m)
  assert.deepEqual(
    gateway.said.filter((line) => line.includes('database thread')),
    ['a database thread died; it restarts in one second {"reason":"the reader thread ended"}'],
  )
})

test('starting a reader is retried until it works, with a log line for each attempt (LOG-11)', async (t) => {
  const gateway = await mortal(t)
  const { headers } = await gateway.chat(ask('auto'))
  assert.equal((await gateway.get('/api/sessions')).status, 200)
  const file = databaseFile(gateway.data)
  renameSync(file, `${file}.away`)
  await gateway.end('reader')
  const deaths = () => gateway.said.filter((line) => line.includes('database thread'))
  await until('it was tried again', async () => deaths().length >= 3)
  assert.match(deaths().at(-1)!, /the reader thread failed: waybill\.db is gone/)
  assert.equal((await gateway.get('/api/sessions')).status, 503)
  assert.equal((await gateway.chat(ask('auto'))).status, 503)
  renameSync(`${file}.away`, file)
  await until('readable again', () => readable(gateway))
  assert.equal((await gateway.record(headers.get('x-gateway-request-id'))).state, 'completed')
})

test('a writer that dies under load is restarted; meanwhile calls are refused, and each inference is recorded and charged once (LOG-07, LIFE-04)', async (t) => {
  const digest = createHash('sha256').update('ann').digest('hex')
  const gateway = await mortal(t, {
    providers: { alpha: (...request) => setTimeout(() => answer()(...request), 20) },
    config: `models: { alpha/model-a: { price: { input: 100000, output: 0 } } }
routes: { auto: { targets: [ { model: alpha/model-a } ] } }
keys: [ { name: ann, role: admin, digest: "sha256:${digest}" } ]`,
  })
  const headers = { authorization: 'Bearer ann' }
  const statuses: number[] = []
  let calling = true
  const clients = Array.from({ length: 8 }, async () => {
    while (calling) statuses.push((await gateway.chat(ask('auto'), headers)).status)
  })
  const served = () => statuses.filter((status) => status === 200).length
  for (let round = 1; round <= 3; round++) {
    const before = served()
    await until('calls are served', async () => served() > before + 40)
    await gateway.end('writer')
    assert.match((await gateway.get('/metrics', { headers })).text, /^waybill_record_writable 0$/m)
    const refused = await gateway.chat(ask('auto'), headers)
    assert.deepEqual([refused.status, refused.json.error.code], [503, 'log_unavailable'])
    assert.equal((await gateway.get('/readyz')).status, 503)
    await until('ready again', async () => (await gateway.get('/readyz')).status === 200)
  }
  calling = false
  await Promise.all(clients)
  assert.deepEqual([...new Set(statuses)].sort(), [200, 503])
  await gateway.gateway.close()

  const db = new Database(databaseFile(gateway.data), { readonly: true })
  t.after(() => db.close())
  const count = (sql: string) => db.prepare(sql).pluck().get() as number
  assert.equal(count(`SELECT count(*) FROM call_attempts WHERE outcome = 'answered'`), gateway.received())
  assert.equal(count(`SELECT count(*) FROM call_logs WHERE state = 'completed'`), gateway.received())
  assert.equal(count('SELECT usd FROM key_spending WHERE length(period) = 7'), 2 * gateway.received())
  assert.equal(count('SELECT count(*) FROM call_logs WHERE completed_at IS NULL'), 0)
  assert.equal(count(`SELECT count(*) FROM call_attempts WHERE outcome = 'open'`), 0)
  checkReferences(db)
  checkRollUps(db)
})

for (const durability of ['process', 'full'] as const)
  test(`with durability ${durability}, a single call is recorded ${durability === 'full' ? 'by the writer thread' : 'without waking a thread'} before it leaves (LOG-01)`, async (t) => {
    let asked = 0
    const countRequests = (worker: Worker) => {
      const { postMessage } = worker
      worker.postMessage = (...given: Parameters<typeof postMessage>) => {
        if (typeof given[0] === 'string') asked++
        postMessage.apply(worker, given)
      }
    }
    process.on('worker', countRequests)
    t.after(() => process.off('worker', countRequests))
    let askedBefore = 0
    let open = 0
    const gateway = await testGateway(t, {
      config: `${AUTO}\ndurability: ${durability}`,
      options: { threads: true },
      providers: {
        alpha(response, received) {
          askedBefore = asked
          const db = new Database(databaseFile(gateway.data), { readonly: true })
          open = db
            .prepare('SELECT count(*) FROM call_logs WHERE completed_at IS NULL')
            .pluck()
            .get() as number
          db.close()
          answer()(response, received)
        },
      },
    })
    await gateway.get('/readyz')
    await sleep(100)
    asked = 0
    assert.equal((await gateway.chat(ask('auto'))).status, 200)
    assert.deepEqual({ askedBefore, open }, { askedBefore: durability === 'full' ? 1 : 0, open: 1 })
  })

/** With this durability, every opening goes through the writer thread. */
const BY_THE_WRITER = 'durability: full'

test('if the writer dies while a call opens, the call is refused, and recorded as failed (LOG-01, LOG-07)', async (t) => {
  const gateway = await mortal(t, { config: `${AUTO}\n${BY_THE_WRITER}` })
  gateway.endOver('writer', 1)
  const { status, json } = await gateway.chat(ask('auto'))
  assert.deepEqual([status, json.error.code, gateway.received()], [503, 'log_unavailable', 0])
  await until('ready again', async () => (await gateway.get('/readyz')).status === 200)
  const record = await gateway.record(json.request_id)
  assert.deepEqual(
    [record.state, record.status, record.error_code, record.attempts, record.cost_usd],
    ['failed', 503, 'log_unavailable', 0, 0],
  )
  assert.deepEqual(told(record), [['alpha', 'not_sent', 'log_unavailable']])
  await atRest(t, gateway)
})

test('an attempt that was refused because the writer died does not count as an attempt (LOG-02, LOG-05)', async (t) => {
  const gateway = await mortal(t, {
    config: `${TWO_TARGETS}\n${BY_THE_WRITER}`,
    providers: { alpha: fail(500), beta: answer() },
  })
  gateway.endOver('writer', 2)
  const { status, headers } = await gateway.chat(ask('auto'))
  assert.deepEqual([status, headers.get('x-gateway-provider'), gateway.received()], [500, 'alpha', 1])
  await until('ready again', async () => (await gateway.get('/readyz')).status === 200)
  const record = await gateway.record(headers.get('x-gateway-request-id'))
  assert.deepEqual(
    [record.resolved_provider, record.resolved_model, record.tier, record.attempts, record.fallbacks],
    ['alpha', 'model-a', 'balanced', 1, 0],
  )
  assert.deepEqual(told(record), [
    ['alpha', 'failed', 'e500'],
    ['beta', 'not_sent', 'log_unavailable'],
  ])
  await atRest(t, gateway)
})

/** Returns the attempts of a record. */
const told = ({ attempt_log }: any) =>
  attempt_log.map((each: any) => [each.provider, each.outcome, each.error_code])

async function atRest(t: TestContext, { gateway, data }: TestGateway): Promise<void> {
  await gateway.close()
  const db = new Database(databaseFile(data), { readonly: true })
  t.after(() => db.close())
  checkReferences(db)
  checkRollUps(db)
}

test('if a thread dies while the store opens, the gateway does not start, and no message claims a restart (LIFE-04)', async (t) => {
  const directory = temporaryDirectory(t)
  const deaths: string[] = []
  const end = (worker: Worker) => void worker.terminate()
  process.on('worker', end)
  t.after(() => process.off('worker', end))
  await assert.rejects(openStore({ ...options(directory), onDeath: (why) => deaths.push(why) }), {
    name: 'StoreError',
    message: `cannot use data directory ${directory}: the writer thread ended`,
  })
  process.off('worker', end)
  assert.deepEqual(deaths, [])
  await (await openStore(options(directory))).close()
})

test('the reader thread starts with the first read, to save memory in an idle gateway', async (t) => {
  const started: (string | null)[] = []
  const note = (worker: Worker) => void started.push(worker.threadName)
  process.on('worker', note)
  t.after(() => process.off('worker', note))
  const gateway = await testGateway(t, { options: { threads: true } })
  assert.equal((await gateway.chat(ask('auto'))).status, 200)
  assert.equal((await gateway.get('/readyz')).json.reads, 'ready')
  assert.deepEqual(started, ['writer'])
  assert.equal((await gateway.get('/api/sessions')).status, 200)
  assert.deepEqual(started, ['writer', 'reader'])
})

test('a call whose end is written twice is charged once (LOG-07)', async (t) => {
  const directory = temporaryDirectory(t)
  const store = await openStore(options(directory))
  t.after(() => store.close())
  const target = { provider: 'p', model: 'm', tier: null, weight: 1 }
  const at = Date.now()
  const call = { ...emptyCall(idOf(at)), requestedModel: 'auto', keyName: 'ann' }
  const decision = { cause: 'priority', skipped: [] }
  await promisify(store.open)({
    kind: 'open',
    call,
    route: { name: 'auto', strategy: 'priority', candidates: [target], decision },
  })
  for (let n = 0; n < 2; n++)
    await store.write({
      ...{
        kind: 'close',
        id: call.id,
        at,
        requestsSent: 1,
        fallbacks: 0,
        target,
        cost: { usd: 2, missing: [], price: null },
      },
      ended: { n: 1, target, status: 200, outcome: 'answered', errorCode: null, tokens: null },
      outcome: {
        ...{ state: 'completed', status: 200, errorCode: null, responseModel: 'm' },
        ...{ latencyMs: 1, ttftMs: 1, tokens: null },
      },
    })
  assert.equal(
    store.spending.spent({ keyName: 'ann', period: new Date(at).toISOString().slice(0, 7) }).usd,
    2,
  )
})

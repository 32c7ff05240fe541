// LIFE-04, LOG-11: a damaged, locked, read-only or full store refuses calls and spends nothing. Such a store
// answers reads with an error, never with an empty page, and recovers where that is possible. A database is
// never replaced.

import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import {
  closeSync,
  mkdirSync,
  openSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
  writeSync,
} from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import Database from 'better-sqlite3'
import { ask, type TestGateway, temporaryDirectory, testGateway } from '../../test/test-gateway.ts'
import { pause, until } from '../../test/test-until.ts'
import { lockFile, StoreError } from './data-files.ts'
import { databaseFile } from './open.ts'
import { openStore } from './open-store.ts'

const options = (directory: string) => ({
  directory,
  durability: 'process' as const,
  retention: { rows: 1_000_000, days: 30, bytes: 2 ** 30 },
  artifacts: { keep: 10, bytes: 2 ** 20 },
})

/** Checks that a refusal at the start is one line with the directory and the remedy. */
async function refused(directory: string, what: RegExp): Promise<void> {
  await assert.rejects(openStore(options(directory)), (error: Error) => {
    assert.ok(error instanceof StoreError, String(error))
    assert.match(error.message, what)
    assert.match(error.message, /^[^\n]+; [^\n]+$/)
    assert.ok(error.message.includes(directory))
    return true
  })
}

/**
 * Checks that a call is refused without reaching a provider, and that the gateway reports that it is not
 * ready.
 */
async function refusesCalls(gateway: TestGateway): Promise<void> {
  const before = gateway.received()
  const { status, json } = await gateway.chat(ask('auto'))
  assert.deepEqual([status, json.error.code], [503, 'log_unavailable'])
  assert.equal(gateway.received(), before, 'nothing was spent')
  assert.equal((await gateway.get('/readyz')).status, 503)
}

/** Checks that the gateway becomes ready again without a call, and that calls then work. */
async function recovers(gateway: TestGateway): Promise<void> {
  await until('ready again', async () => (await gateway.get('/readyz')).status === 200)
  assert.equal((await gateway.chat(ask('auto'))).status, 200)
}

const READS = [
  '/api/usage/request-logs?limit=200',
  '/api/usage/logs?limit=200',
  '/api/usage/history?window=24h',
  '/api/usage/history?window=24h&bucket=1m',
  '/api/analytics/auto-routing?window=30d',
  '/api/sessions?limit=200',
  '/api/sessions/s-1',
]

let filled: Buffer | undefined
/** A directory with a few hundred calls in its database, of which each test gets a copy. */
async function used(t: TestContext): Promise<string> {
  if (filled) {
    const directory = temporaryDirectory(t)
    writeFileSync(databaseFile(directory), filled, { mode: 0o600 })
    return directory
  }
  const gateway = await testGateway(t)
  for (let call = 0; call < 300; call++)
    await gateway.chat(ask('auto'), { 'x-session-id': `s-${call % 9}`, 'x-filler': 'x' })
  await gateway.gateway.close()
  filled = readFileSync(databaseFile(gateway.data))
  return gateway.data
}

/** Overwrites the middle of the database, page by page. */
function damage(file: string): void {
  const handle = openSync(file, 'r+')
  const pages = Math.floor(statSync(file).size / 4096)
  for (let page = 2; page < pages; page++) writeSync(handle, Buffer.alloc(4096, 0xa5), 0, 4096, page * 4096)
  closeSync(handle)
}

test('a damaged database is refused on startup and left unchanged (LIFE-04)', async (t) => {
  const data = await used(t)
  const file = databaseFile(data)
  const whole = readFileSync(file)
  const handle = openSync(file, 'r+')
  writeSync(handle, Buffer.alloc(4096, 0xa5), 0, 4096, Math.floor(whole.length / 8192) * 4096)
  closeSync(handle)
  const before = readFileSync(file)
  await refused(data, /damaged/)
  assert.ok(readFileSync(file).equals(before))

  writeFileSync(file, Buffer.concat([Buffer.alloc(100, 0xa5), whole.subarray(100)]))
  await refused(data, /not a database/)
  assert.equal(readFileSync(file).length, whole.length)
  writeFileSync(file, whole)
  await (await openStore(options(data))).close()
})

test('damage detected while the gateway runs makes every read fail and stops all writes (LIFE-04, LOG-11)', async (t) => {
  const data = await used(t)
  const gateway = await testGateway(t, { data })
  damage(databaseFile(data))
  for (const path of READS) {
    const { status, json } = await gateway.get(path)
    assert.deepEqual([status, json.error?.code], [503, 'log_unavailable'], path)
  }
  const bytes = readFileSync(databaseFile(data))
  const log = statSync(`${databaseFile(data)}-wal`).size
  await refusesCalls(gateway)
  await pause(600) // longer than the delay before a write is retried
  await refusesCalls(gateway)
  assert.equal(statSync(`${databaseFile(data)}-wal`).size, log, 'nothing more is written')
  assert.ok(readFileSync(databaseFile(data)).equals(bytes))
})

test('while another program locks the database, a start and all calls are refused; afterwards the gateway recovers (LIFE-04)', async (t) => {
  const data = await used(t)
  const other = new Database(databaseFile(data))
  other.pragma('locking_mode = EXCLUSIVE')
  other.exec('BEGIN IMMEDIATE')
  await refused(data, /locked/)
  other.exec('COMMIT')
  other.close()

  const gateway = await testGateway(t, { data })
  const rude = new Database(databaseFile(data))
  rude.exec('BEGIN IMMEDIATE')
  await refusesCalls(gateway)
  assert.equal((await gateway.get('/api/usage/request-logs')).json.data.length, 50, 'reading goes on')
  rude.exec('ROLLBACK')
  rude.close()
  await recovers(gateway)
})

test('if a budget cannot be read, calls are refused with the same error as other store failures (LIFE-04, LOG-11)', async (t) => {
  const data = await used(t)
  const digest = createHash('sha256').update('key-of-ann').digest('hex')
  const config = `keys: [ { name: ann, digest: "sha256:${digest}", budget: { usd: 5 } } ]`
  const gateway = await testGateway(t, { data, config })
  damage(databaseFile(data))
  const headers = { authorization: 'Bearer key-of-ann' }
  const { status, json } = await gateway.chat(ask('alpha/model-a'), headers)
  assert.deepEqual([status, json.error.code], [503, 'log_unavailable'])
  assert.equal(gateway.received(), 0)
  assert.equal((await gateway.get('/readyz', { headers })).status, 503)
})

/** Holds the lock as `doctor` does during its check, but longer. */
const LOOK = `
  const { DatabaseSync } = require('node:sqlite')
  const lock = new DatabaseSync(process.argv[1], { readOnly: true })
  lock.exec('BEGIN; SELECT * FROM sqlite_schema')
  console.log('looking')
  setTimeout(() => lock.close(), 50)`

test('a check for the directory lock does not count as a second gateway (LIFE-05)', async (t) => {
  const data = temporaryDirectory(t)
  await (await openStore(options(data))).close()
  const looker = spawn(process.execPath, ['-e', LOOK, lockFile(data)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  await once(looker.stdout, 'data')
  await (await openStore(options(data))).close()
})

/** Runs with a small separate file system; prints a reason if this user may not mount one. */
async function onSmallDisk(t: TestContext, body: (directory: string) => Promise<void>): Promise<void> {
  const directory = join(temporaryDirectory(t), 'disk')
  mkdirSync(directory)
  const mounted = spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=2m', 'tmpfs', directory], {
    encoding: 'utf8',
  })
  if (mounted.status !== 0) {
    t.skip(`mounting a file system is not permitted here: ${mounted.stderr ?? mounted.error}`)
    return
  }
  try {
    await body(directory)
  } finally {
    spawnSync('umount', ['-l', directory])
  }
}

test('a full disk prevents the start and makes the gateway refuse calls; it recovers once there is space (LIFE-04)', (t) =>
  onSmallDisk(t, async (directory) => {
    const data = join(directory, 'data')
    const filler = join(directory, 'filler')
    const fillUp = () => {
      const handle = openSync(filler, 'w')
      assert.throws(() => {
        for (;;) writeSync(handle, Buffer.alloc(4096))
      }, /ENOSPC/)
      closeSync(handle)
    }
    fillUp()
    await refused(data, /full|ENOSPC/)
    rmSync(filler)

    const gateway = await testGateway(t, { data })
    assert.equal((await gateway.chat(ask('auto'))).status, 200)
    fillUp()
    for (let call = 0; call < 50 && (await gateway.get('/readyz')).status === 200; call++)
      await gateway.chat(ask('auto'))
    await refusesCalls(gateway)
    assert.ok((await gateway.get('/api/usage/request-logs')).json.data.length > 0, 'reading goes on')
    rmSync(filler)
    await recovers(gateway)
    await gateway.gateway.close()
    const db = new Database(databaseFile(data), { readonly: true })
    assert.equal(db.pragma('integrity_check', { simple: true }), 'ok')
    db.close()
  }))

test('a read-only file system is refused (LIFE-04)', (t) =>
  onSmallDisk(t, async (directory) => {
    await (await openStore(options(directory))).close()
    const whole = readFileSync(databaseFile(directory))
    assert.equal(spawnSync('mount', ['-o', 'remount,ro', directory]).status, 0)
    await refused(directory, /cannot be written to|read-only/)
    assert.equal(spawnSync('mount', ['-o', 'remount,rw', directory]).status, 0)
    assert.ok(readFileSync(databaseFile(directory)).equals(whole))
    await (await openStore(options(directory))).close()
  }))

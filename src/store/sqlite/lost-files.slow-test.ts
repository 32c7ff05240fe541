// LOG-07, LIFE-04, LIFE-05: the record's files disappear under a running gateway, or other files replace them. The
// gateway reports this, spends nothing unrecorded, and never shows an empty record. It recovers by itself once the
// files are back. Over 250 lines, because it is a table of cases.

import assert from 'node:assert/strict'
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  copyFileSync,
  existsSync,
  linkSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import Database from 'better-sqlite3'
import { ask, type TestGateway, temporaryDirectory, testGateway } from '../../test/test-gateway.ts'
import { IS_FULL, sample } from '../../test/test-size.ts'
import { until } from '../../test/test-until.ts'
import { lockFile, StoreError } from './data-files.ts'
import { databaseFile } from './open.ts'
import { openStore } from './open-store.ts'
import { checkReferences, checkRollUps } from './test-database.ts'

const options = (directory: string) => ({
  directory,
  durability: 'process' as const,
  retention: { rows: 1_000_000, days: 30, bytes: 2 ** 30 },
  artifacts: { keep: 10, bytes: 2 ** 20 },
})

interface Deed {
  readonly what: string
  /** Damages the files, after some calls and before some more. */
  before?(data: string, aside: string): void
  /** `aside`: unused path next to the data directory. */
  act(data: string, aside: string): void
  /** Puts the same files back. Absent if only a restart helps. */
  undo?(data: string, aside: string): void
  /** The reason in the answer of /readyz. */
  readonly says: RegExp
  /** True if calls that were on record are gone. */
  readonly loses?: true
}

const wal = (data: string) => `${databaseFile(data)}-wal`
const shm = (data: string) => `${databaseFile(data)}-shm`
const away = (file: string) => `${file}.away`
/** Time for which another program checkpoints the log under load, ms. */
const FOLD_MS = IS_FULL ? 10_000 : 1_000
/** SQLite may read a foreign page first and report another error. */
const OVERWRITTEN = /waybill\.db was overwritten|malformed|not a database/

/** Runs in its own process: a process that closes a file of the database loses its locks on it. */
const run = (program: string, ...args: string[]) => execFileSync(program, args, { stdio: 'ignore' })

/**
 * Runs a complete checkpoint on another connection, which moves the log into the database and truncates it.
 */
function fold(data: string): void {
  const db = new Database(databaseFile(data))
  db.pragma('wal_checkpoint(TRUNCATE)')
  db.close()
}

/** Copies one file after the other. `cpSync` fails if a file grows while it is copied. */
function copyDirectory(from: string, to: string): void {
  mkdirSync(to)
  for (const name of readdirSync(from)) copyFileSync(join(from, name), join(to, name))
}

/** Saves the files as they are now, for cases that put them back while the gateway runs. */
function copyFiles(data: string, aside: string): void {
  run('cp', '-a', data, aside)
}

/** Overwrites the beginning of a file without changing its length. */
const overwrite = (from: string, to: string) => run('dd', `if=${from}`, `of=${to}`, 'bs=4096', 'conv=notrunc')

const DEEDS: readonly Deed[] = [
  {
    what: 'the data directory is removed with rm -rf',
    act: (data) => rmSync(data, { recursive: true }),
    says: /waybill\.db is gone/,
  },
  {
    what: 'all files in the data directory are removed',
    act(data) {
      for (const name of readdirSync(data)) rmSync(join(data, name))
    },
    says: /waybill\.db is gone/,
  },
  { what: 'the database is removed', act: (data) => rmSync(databaseFile(data)), says: /waybill\.db is gone/ },
  {
    what: 'the database is moved away',
    act: (data) => renameSync(databaseFile(data), away(databaseFile(data))),
    undo: (data) => renameSync(away(databaseFile(data)), databaseFile(data)),
    says: /waybill\.db is gone/,
  },
  {
    what: 'the write-ahead log is removed',
    act: (data) => rmSync(wal(data)),
    says: /waybill\.db-wal is gone/,
  },
  { what: 'the shared memory is removed', act: (data) => rmSync(shm(data)), says: /waybill\.db-shm is gone/ },
  {
    what: 'the log and the shared memory are removed',
    act(data) {
      rmSync(wal(data))
      rmSync(shm(data))
    },
    says: /waybill\.db-(wal|shm) is gone/,
  },
  {
    what: 'the log and the shared memory are moved away',
    act(data) {
      renameSync(wal(data), away(wal(data)))
      renameSync(shm(data), away(shm(data)))
    },
    undo(data) {
      renameSync(away(wal(data)), wal(data))
      renameSync(away(shm(data)), shm(data))
    },
    says: /waybill\.db-(wal|shm) is gone/,
  },
  { what: 'the lock is removed', act: (data) => rmSync(lockFile(data)), says: /waybill\.lock is gone/ },
  {
    what: 'another lock',
    act(data) {
      renameSync(lockFile(data), away(lockFile(data)))
      writeFileSync(lockFile(data), '')
    },
    undo: (data) => renameSync(away(lockFile(data)), lockFile(data)),
    says: /waybill\.lock was replaced by another file/,
  },
  {
    what: 'the data directory is moved away',
    act: renameSync,
    undo: (data, aside) => renameSync(aside, data),
    says: /waybill\.db is gone/,
  },
  {
    what: 'an empty directory replaces the data directory',
    act(data, aside) {
      renameSync(data, aside)
      mkdirSync(data)
    },
    undo(data, aside) {
      rmSync(data, { recursive: true })
      renameSync(aside, data)
    },
    says: /waybill\.db is gone/,
  },
  {
    what: 'a copy replaces the data directory',
    act(data, aside) {
      renameSync(data, aside)
      copyDirectory(aside, data)
    },
    undo(data, aside) {
      rmSync(data, { recursive: true })
      renameSync(aside, data)
    },
    says: /waybill\.db was replaced by another file/,
  },
  {
    what: 'a symbolic link to a copy replaces the data directory',
    act(data, aside) {
      renameSync(data, aside)
      copyDirectory(aside, `${aside}-copy`)
      symlinkSync(`${aside}-copy`, data)
    },
    undo(data, aside) {
      rmSync(data)
      renameSync(aside, data)
    },
    says: /waybill\.db was replaced by another file/,
  },
  {
    what: 'a copy replaces the database',
    act(data, aside) {
      copyFileSync(databaseFile(data), aside)
      renameSync(aside, databaseFile(data))
    },
    says: /waybill\.db was replaced by another file/,
  },
  {
    what: 'an empty file replaces the database',
    act(data) {
      rmSync(databaseFile(data))
      writeFileSync(databaseFile(data), '')
    },
    says: /waybill\.db was replaced by another file/,
  },
  {
    what: 'a file replaces the data directory',
    act(data, aside) {
      renameSync(data, aside)
      writeFileSync(data, '')
    },
    undo(data, aside) {
      rmSync(data)
      renameSync(aside, data)
    },
    says: /waybill\.db is gone/,
  },
  {
    what: 'the log is truncated to zero bytes',
    act: (data) => truncateSync(wal(data)),
    says: /waybill\.db-wal was truncated/,
    loses: true,
  },
  {
    what: 'cp of an older copy overwrites the database',
    before(data, aside) {
      run('cp', databaseFile(data), aside)
      fold(data)
    },
    act: (data, aside) => run('cp', aside, databaseFile(data)),
    says: OVERWRITTEN,
    loses: true,
  },
  {
    what: 'cp of an older copy overwrites the database while the log is empty',
    before: (data, aside) => run('cp', databaseFile(data), aside),
    act(data, aside) {
      fold(data)
      run('cp', aside, databaseFile(data))
    },
    says: OVERWRITTEN,
    loses: true,
  },
  {
    what: 'cp of an empty file overwrites the database',
    act: (data) => run('cp', '/dev/null', databaseFile(data)),
    says: OVERWRITTEN,
    loses: true,
  },
  {
    what: 'older copies of the log and shared memory overwrite the originals, without a checkpoint in between',
    before: copyFiles,
    act(data, aside) {
      run('cp', join(aside, 'waybill.db-wal'), wal(data))
      overwrite(join(aside, 'waybill.db-shm'), shm(data))
    },
    says: /waybill\.db-(wal|shm) was truncated or overwritten/,
    loses: true,
  },
  {
    what: 'an older copy of the shared memory overwrites the original',
    before: copyFiles,
    act: (data, aside) => overwrite(join(aside, 'waybill.db-shm'), shm(data)),
    says: /waybill\.db-shm was truncated or overwritten/,
    loses: true,
  },
  {
    what: 'a shorter log from before the last checkpoint overwrites the current log',
    before(data, aside) {
      copyFiles(data, aside)
      fold(data)
    },
    act(data, aside) {
      truncateSync(join(aside, 'waybill.db-wal'), 100_000)
      overwrite(join(aside, 'waybill.db-wal'), wal(data))
    },
    says: /waybill\.db-wal was truncated or overwritten/,
    loses: true,
  },
  {
    what: 'an older log, padded with zeros to the same length, overwrites the current log',
    before: copyFiles,
    act(data, aside) {
      const { size } = statSync(wal(data))
      run('cp', join(aside, 'waybill.db-wal'), wal(data))
      run('truncate', '-s', String(size), wal(data))
    },
    says: /waybill\.db-wal was truncated or overwritten/,
    loses: true,
  },
  {
    what: 'zeros replace the first page of the database',
    act: (data) =>
      run('dd', 'if=/dev/zero', `of=${databaseFile(data)}`, 'bs=4096', 'count=1', 'conv=notrunc'),
    says: OVERWRITTEN,
    loses: true,
  },
]

const READS = [
  '/api/usage/request-logs',
  '/api/usage/logs',
  '/api/usage/history?window=24h',
  '/api/sessions',
  '/api/analytics/auto-routing?window=24h',
]

/** Starts clients that send calls without a pause until they are stopped. */
function load(gateway: TestGateway, clients: number) {
  const statuses: number[] = []
  let calling = true
  const loops = Array.from({ length: clients }, async () => {
    while (calling) statuses.push((await gateway.chat(ask('auto'), { 'x-session-id': 'load' })).status)
  })
  return {
    served: () => statuses.filter((status) => status === 200).length,
    async stop() {
      calling = false
      await Promise.all(loops)
    },
  }
}

/** Starts a gateway on its own directory. A second name of its database remains readable afterwards. */
async function watched(t: TestContext) {
  const parent = temporaryDirectory(t)
  const data = join(parent, 'data')
  mkdirSync(data)
  const gateway = await testGateway(t, { data, options: { threads: true } })
  linkSync(databaseFile(data), join(parent, 'kept.db'))
  return { gateway, data, aside: join(parent, 'aside'), kept: join(parent, 'kept.db') }
}

/**
 * Checks that every inference is on record in this database, and nothing else. Exceptions are attempts that were
 * refused while the files disappeared: it was unknown whether those were written. The next start marks those that are
 * still open.
 */
function assertRecorded(file: string, gateway: TestGateway): void {
  const db = new Database(file)
  try {
    const count = (where: string) =>
      db.prepare<[], number>(`SELECT count(*) FROM call_attempts WHERE ${where}`).pluck().get()!
    assert.equal(
      count(`outcome = 'not_sent'`) + count(`outcome = 'open'`) + count(`outcome = 'answered'`),
      count('true'),
    )
    assert.ok(count(`outcome <> 'not_sent'`) >= gateway.received(), 'every inference is on record')
    assert.ok(count(`outcome = 'answered'`) <= gateway.received(), 'and no other is')
    assert.equal(db.pragma('integrity_check', { simple: true }), 'ok')
  } finally {
    db.close()
  }
}

for (const { what, before, act, undo, says, loses } of sample(DEEDS, 4))
  test(`${what}: nothing is spent unrecorded, and calls, reads and probes report the error (LOG-07, LIFE-04)`, async (t) => {
    const { gateway, data, aside, kept } = await watched(t)
    const clients = load(gateway, 6)
    await until('calls are served', () => clients.served() > 40)
    before?.(data, aside)
    const served = clients.served()
    await until('more calls are served', () => clients.served() > served + 40)
    act(data, aside)
    await until('not ready', async () => (await gateway.get('/readyz')).status === 503)
    await clients.stop()

    const spent = gateway.received()
    const refused = await gateway.chat(ask('auto'))
    assert.deepEqual([refused.status, refused.json.error.code], [503, 'log_unavailable'])
    assert.equal(gateway.received(), spent, 'nothing more is spent')
    const ready = await gateway.get('/readyz')
    assert.equal(ready.status, 503)
    assert.match(ready.json.error.message, says)
    for (const path of READS) {
      const { status, json } = await gateway.get(path)
      assert.deepEqual([status, json.error?.code], [503, 'log_unavailable'], path)
    }
    await assert.rejects(openStore(options(data)), (error: Error) => {
      assert.ok(error instanceof StoreError, String(error))
      assert.match(error.message, /in use by another Waybill/)
      return true
    })

    if (undo) {
      undo(data, aside)
      await until('ready again', async () => (await gateway.get('/readyz')).status === 200)
      assert.equal((await gateway.chat(ask('auto'), { 'x-session-id': 'load' })).status, 200)
      await until('what could not be written has been made up for', async () => {
        const { json } = await gateway.get('/api/usage/request-logs?limit=200&status=ok')
        return json.data.length === gateway.received()
      })
    }
    await gateway.gateway.close()
    if (!loses) assertRecorded(kept, gateway)
    if (what.startsWith('cp of an older'))
      assert.ok(
        readFileSync(databaseFile(data)).equals(readFileSync(aside)),
        'the copy is as it was put there',
      )
    if (!undo) return
    const db = new Database(databaseFile(data))
    checkReferences(db)
    checkRollUps(db)
    db.close()
  })

test('even without calls, a gateway reports missing files within a second (LIFE-04)', async (t) => {
  const said: string[] = []
  const parent = temporaryDirectory(t)
  const data = join(parent, 'data')
  const store = await openStore({ ...options(data), onFailure: (why) => said.push(why) })
  t.after(() => store.close(10))
  rmSync(data, { recursive: true })
  await until('it was said', () => said.length > 0)
  assert.match(said[0]!, /waybill\.db is gone/)
  assert.match(store.failure!, /waybill\.db is gone/)
  await assert.rejects(openStore(options(data)), /in use by another Waybill/)
  assert.equal(existsSync(data), false, 'nothing was made in its place')
})

test('another gateway can start after a gateway with deleted files has ended (LIFE-05)', async (t) => {
  const data = join(temporaryDirectory(t), 'data')
  const store = await openStore(options(data))
  rmSync(data, { recursive: true })
  await store.close(10)
  await (await openStore(options(data))).close()
})

test('every call is on record although log and shared memory were deleted and the gateway was killed (LIFE-01, LOG-07)', async (t) => {
  for (const deletes of sample(['-wal -shm', '-wal', '-shm', '-wal -shm .lock'], 2)) {
    const data = join(temporaryDirectory(t), 'data')
    const script = join(temporaryDirectory(t), 'victim.mjs')
    writeFileSync(script, VICTIM(data))
    const child = spawn(process.execPath, ['--import', 'tsx', script], {
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    t.after(() => child.kill('SIGKILL'))
    const lines: string[] = []
    child.stdout.setEncoding('utf8').on('data', (text) => lines.push(...text.split('\n').filter(Boolean)))
    await until('50 calls are on record', () => lines.includes('recorded'))
    for (const end of deletes.split(' '))
      rmSync(end === '.lock' ? lockFile(data) : `${databaseFile(data)}${end}`)
    await until('it was said', () => lines.includes('failed'), 1_500)
    child.kill('SIGKILL')
    await once(child, 'exit')
    const db = new Database(databaseFile(data))
    assert.equal(db.prepare('SELECT count(*) FROM call_logs').pluck().get(), 50, deletes)
    checkRollUps(db)
    db.close()
  }
})

/** Writes 50 calls and waits. */
const VICTIM = (data: string) => `
  import { promisify } from 'node:util'
  import { openStore } from ${JSON.stringify(new URL('./open-store.ts', import.meta.url).href)}
  import { emptyCall, idOf } from ${JSON.stringify(new URL('../../core/call.ts', import.meta.url).href)}
  const store = await openStore({ ...${JSON.stringify(options(data))}, onFailure: () => console.log('failed') })
  const target = { provider: 'p', model: 'm', tier: null, weight: 1 }
  for (let n = 0; n < 50; n++) {
    await promisify(store.open)({ kind: 'open', call: emptyCall(idOf(Date.now())), route: { name: 'auto', strategy: 'priority', candidates: [target], decision: { cause: 'priority', skipped: [] } } })
  }
  console.log('recorded')
  setInterval(() => {}, 1_000)`

/** Checkpoints the log repeatedly until it is stopped; `between` is an additional step. */
const FOLDER = (data: string, between = '') => `
  const Database = require('better-sqlite3')
  const db = new Database(${JSON.stringify(databaseFile(data))}, { timeout: 10_000 })
  const pause = (ms) => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms)
  for (let n = 0; ; n++) {
    db.pragma('wal_checkpoint(' + ['PASSIVE', 'RESTART', 'TRUNCATE'][n % 3] + ')')
    ${between}
  }`

for (const [what, between] of [
  ['fold the log in', ''],
  [
    'write into the log, too',
    `db.pragma('user_version = ' + db.pragma('user_version', { simple: true })); pause(5)`,
  ],
  ['rewrite the database, too', `db.exec('VACUUM'); pause(20)`],
] as const)
  test(`another program may ${what} while the gateway serves calls (LIFE-04)`, async (t) => {
    const { gateway, data } = await watched(t)
    const child = spawn(process.execPath, ['-e', FOLDER(data, between)], {
      stdio: ['ignore', 'ignore', 'inherit'],
    })
    t.after(() => child.kill('SIGKILL'))
    const clients = load(gateway, 6)
    await sleep(FOLD_MS)
    await until('calls are served', () => clients.served() > 40)
    assert.equal((await gateway.get('/readyz')).status, 200)
    await clients.stop()
    assert.equal(child.exitCode, null, 'it went on to the end')
    assert.equal(clients.served(), gateway.received())
  })

test('files with wide permissions are accepted (LIFE-04)', async (t) => {
  const { gateway, data, aside } = await watched(t)
  const calls = async (what: string) => {
    for (let call = 0; call < 5; call++) assert.equal((await gateway.chat(ask('auto'))).status, 200, what)
    assert.equal((await gateway.get('/readyz')).status, 200, what)
  }
  await calls('at first')
  const other = new Database(databaseFile(data))
  for (const kind of ['PASSIVE', 'FULL', 'RESTART', 'TRUNCATE', 'TRUNCATE']) {
    other.pragma(`wal_checkpoint(${kind})`)
    await calls(`a checkpoint by another program: ${kind}`)
  }
  other.exec('VACUUM')
  await calls('another program has rewritten the database')
  run('touch', databaseFile(data))
  await calls('the time of the database was set')
  other.exec(`VACUUM INTO '${aside}'`)
  await calls('a copy made by another program')
  other.close()
  writeFileSync(join(data, 'notes.txt'), 'x')
  rmSync(join(data, 'notes.txt'))
  await calls('other files in the directory')
  renameSync(data, `${aside}-real`)
  symlinkSync(`${aside}-real`, data)
  await calls('a link to the same files')
  assert.ok(existsSync(dirname(databaseFile(data))))
})

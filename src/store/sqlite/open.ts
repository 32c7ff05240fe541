// Opens the data directory: ensures the newest schema, and closes calls that a dead gateway left open. Never replaces
// an existing database. Ensures one owner at a time: one lock is in the directory, and a second is on the directory's
// name, which holds even if the directory is deleted or replaced under the running gateway. Both locks end with the
// process, even after a crash.

import { createHash } from 'node:crypto'
import { chmodSync, existsSync, lstatSync, mkdirSync, realpathSync, rmSync, statSync } from 'node:fs'
import { tmpdir, userInfo } from 'node:os'
import { basename, dirname, join, resolve } from 'node:path'
import Database from 'better-sqlite3'
import type { TracedCall } from '../../core/tracing.ts'
import type { RunningCall } from '../store.ts'
import { INTERRUPTED_COST_MISSING } from '../writes.ts'
import { lockFile, orphanedLog, refuseStart, StoreError, unusable } from './data-files.ts'
import { migrate } from './migrations.ts'
import { fillOutbox } from './outbox.ts'
import { CLOSED_CALL, type ClosedCall, openRollUps } from './roll-ups.ts'
import { chargeReservations, ENDS_WITH_US } from './spending.ts'

export const databaseFile = (directory: string): string => join(directory, 'waybill.db')

/** Returns all files that are open while a gateway runs. */
export const openPaths = (directory: string): string[] => {
  const file = databaseFile(directory)
  return [file, `${file}-wal`, `${file}-shm`, lockFile(directory)]
}

/** Error code if another program wrote into the database or truncated its log. */
export const SPOILT = 'WAYBILL_SPOILT'

/** Returns true for damaged files, which another write would damage even more. */
export const isDamage = (error: unknown): boolean =>
  /^(SQLITE_(CORRUPT|NOTADB)|WAYBILL_SPOILT)/.test((error as { code?: string }).code ?? '')

/** Maximum bytes of a database that is checked at every start, and rewritten if that makes it smaller. */
const MAX_CHECKED_BYTES = 256 * 2 ** 20

/** Remedies for an operator, by SQLite's code; the first matching prefix counts. */
const REMEDIES: readonly (readonly [code: string, remedy: string])[] = [
  [
    'SQLITE_CORRUPT',
    'the database is damaged; move it away together with waybill.db-wal, or restore it from a copy. It was not changed',
  ],
  [
    'SQLITE_NOTADB',
    'waybill.db is not a database; move it away, and waybill.db-wal with it. It was not changed',
  ],
  ['SQLITE_BUSY', 'another program holds waybill.db locked; close it'],
  ['SQLITE_FULL', 'the disk is full; free some space, or set another directory with WAYBILL_DATA'],
  [
    'SQLITE_READONLY',
    'it cannot be written to; set its owner and mode, or another directory with WAYBILL_DATA',
  ],
  [
    'SQLITE_CANTOPEN',
    'it cannot be written to; set its owner and mode, or another directory with WAYBILL_DATA',
  ],
  ['ENOENT', 'a part of its path leads nowhere; make it, or set another directory with WAYBILL_DATA'],
  ['EROFS', 'the file system is read-only; set another directory with WAYBILL_DATA'],
  ['EACCES', 'set its owner and mode, or another directory with WAYBILL_DATA'],
  ['ENOSPC', 'the disk is full; free some space, or set another directory with WAYBILL_DATA'],
]

/** Makes a refusal in one line: the problem, its place, and the remedy. */
export function refusal(directory: string, cause: unknown): StoreError {
  if (cause instanceof StoreError) return cause
  const { message, code = '' } = cause as Error & { code?: string }
  const remedy = REMEDIES.find(([begin]) => code.startsWith(begin))?.[1]
  const text = `cannot use data directory ${directory}: ${message}${remedy ? `; ${remedy}` : ''}`
  return new StoreError(text.replaceAll('\n', ' '), { cause })
}

interface LockClaim {
  release(): void
  /** Calls that a killed gateway left open. */
  readonly interrupted: readonly TracedCall[]
  readonly background: readonly RunningCall[]
}

/**
 * Creates the directory (0700) and the database (0600) if needed. Checks and migrates the database, and marks
 * calls that a killed gateway left open. `release` unlocks the directory; the operating system does the same
 * when the process dies.
 */
export function claim(directory: string, now: number, fleet = false): LockClaim {
  let release: (() => void) | undefined
  try {
    release = lockDirectory(directory)
    for (const path of openPaths(directory)) refuseStart(directory, unusable(path))
    const file = databaseFile(directory)
    const fresh = !existsSync(file)
    refuseStart(directory, orphanedLog(file))
    const db = new Database(file, { timeout: BUSY_MS })
    if (fresh) chmodSync(file, 0o600)
    try {
      if (!fresh && statSync(file).size <= MAX_CHECKED_BYTES) check(db)
      makeShrinkable(db, file)
      db.pragma('journal_mode = WAL')
      migrate(db)
      if (fleet) fillOutbox(db)
      return { release, interrupted: interrupt(db, now), background: runningOn(db) }
    } finally {
      db.close()
    }
  } catch (cause) {
    release?.()
    throw refusal(directory, cause)
  }
}

/** Time to wait while another program locks the database, ms. */
export const BUSY_MS = 1_000

/**
 * Checks all pages. Without this check, a damaged page in the middle would be noticed only when it is read.
 */
function check(db: Database.Database): void {
  const [found] = db.pragma('quick_check(1)') as { quick_check: string }[]
  if (found && found.quick_check !== 'ok')
    throw Object.assign(new Error(found.quick_check), { code: 'SQLITE_CORRUPT' })
}

/**
 * Enables the return of space from deleted calls. A large database from an old release reuses its space
 * instead.
 */
function makeShrinkable(db: Database.Database, file: string): void {
  const isSet = db.pragma('auto_vacuum', { simple: true }) === 2
  if (isSet || statSync(file).size > MAX_CHECKED_BYTES) return
  db.pragma('journal_mode = DELETE')
  db.pragma('auto_vacuum = INCREMENTAL')
  db.exec('VACUUM')
}

/** Returns the calls that continue at their provider. */
const runningOn = (db: Database.Database): RunningCall[] =>
  db
    .prepare<[], RunningCall>(
      `SELECT call_logs.id, run, key_name AS keyName, session_id AS sessionId, usd FROM background_calls
         JOIN call_logs ON call_logs.id = background_calls.call_id
         LEFT JOIN key_reservations ON key_reservations.call_id = call_logs.id WHERE completed_at IS NULL`,
    )
    .all()

/**
 * Closes calls that were left open: the call becomes `interrupted`, its attempt `unknown`, and its
 * reservation is spent, unless the cache answered it. A batch or a background response continues at its provider, so its call stays open.
 */
function interrupt(db: Database.Database, now: number): TracedCall[] {
  return db.transaction(() => {
    chargeReservations(db)
    db.prepare(
      `UPDATE call_attempts SET outcome = 'unknown', ended_at = ? WHERE outcome = 'open'
         AND call_id IN (SELECT id FROM call_logs WHERE completed_at IS NULL AND ${ENDS_WITH_US})`,
    ).run(now)
    const rollUps = openRollUps(db)
    const interrupted = db
      .prepare<[number], ClosedCall & TracedCall>(
        `UPDATE call_logs SET state = 'interrupted', completed_at = ?, cost_usd = iif(cache = 'HIT', 0, cost_usd),
           cost_missing = iif(cache = 'HIT', '[]', '${INTERRUPTED_COST_MISSING}') WHERE completed_at IS NULL AND ${ENDS_WITH_US}
           RETURNING ${CLOSED_CALL}, traceparent`,
      )
      .all(now)
    for (const call of interrupted) rollUps.count(call)
    rollUps.settle()
    return interrupted.map(({ id, traceparent }) => ({ id, traceparent }))
  })()
}

/** Time to wait for the lock, ms. `doctor` holds it briefly when it checks for a gateway. */
const LOCK_MS = 500

/** Creates the directory (0700) if needed and holds it until the returned function is called. */
function lockDirectory(directory: string): () => void {
  const releaseName = lockName(directory)
  try {
    mkdirSync(directory, { recursive: true, mode: 0o700 })
    refuseStart(directory, unusable(lockFile(directory)))
    const lock = take(lockFile(directory), LOCK_MS)
    if (!lock) throw inUse(directory)
    return () => {
      lock.close()
      releaseName()
    }
  } catch (error) {
    releaseName()
    throw error
  }
}

/**
 * The second lock needs a private place. In a container that cannot write to its /tmp, the first lock must
 * suffice.
 */
function lockName(directory: string): () => void {
  let file: string
  let lock: Database.Database | null
  try {
    file = nameLockFile(directory)
    lock = take(file, 0)
  } catch {
    return () => {}
  }
  if (!lock) throw inUse(directory)
  return () => {
    rmSync(file, { force: true })
    lock.close()
  }
}

const inUse = (directory: string): StoreError =>
  new StoreError(
    `data directory ${directory} is in use by another Waybill; stop that one, or set another directory with WAYBILL_DATA`,
  )

/** Acquires an exclusive lock by SQLite's own file locking; returns null if another process holds it. */
function take(file: string, patience: number): Database.Database | null {
  const lock = new Database(file, { timeout: patience })
  try {
    chmodSync(file, 0o600)
    lock.exec('BEGIN EXCLUSIVE')
    return lock
  } catch (cause) {
    lock.close()
    if ((cause as { code?: string }).code !== 'SQLITE_BUSY') throw cause
    return null
  }
}

/** Named after the directory's path and device, because each container has its own /data. */
function nameLockFile(directory: string): string {
  const path = resolve(directory)
  const parent = realpathSync(dirname(path))
  const name = join(parent, basename(path))
  const digest = createHash('sha256')
    .update(`${statSync(parent).dev} ${name}`)
    .digest('hex')
  return join(privateDirectory(), `${digest.slice(0, 32)}.lock`)
}

/** Any user may write to /tmp, so another user could have created it. */
function privateDirectory(): string {
  const { uid, username } = userInfo()
  const directory = join(tmpdir(), `waybill-locks-${uid < 0 ? username : uid}`)
  mkdirSync(directory, { recursive: true, mode: 0o700 })
  const stats = lstatSync(directory)
  if (uid >= 0 && (!stats.isDirectory() || stats.uid !== uid || (stats.mode & 0o077) !== 0))
    throw new Error(`${directory} is not private`)
  return directory
}

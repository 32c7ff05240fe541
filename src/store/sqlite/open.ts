// Opens the data directory: one owner at a time, the newest schema, no call left open by a gateway that died.
// Never replaces an existing database.
import { chmodSync, existsSync, statSync } from 'node:fs'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import type { TracedCall } from '../../tracing.ts'
import { lockDirectory } from './directory-lock.ts'
import { migrate } from './migrations.ts'
import { fillOutbox } from './outbox.ts'
import { CLOSED_CALL, type ClosedCall, openRollUps } from './roll-ups.ts'
import { chargeReservations } from './spending.ts'

/** The data directory cannot be used; the message says why and what to do. */
export class StoreError extends Error {
  override readonly name = 'StoreError'
}

export const databaseFile = (directory: string): string => join(directory, 'waybill.db')

/** Held by the gateway that runs on the directory. */
export const lockFile = (directory: string): string => join(directory, 'waybill.lock')

/** Everything that is open while a gateway runs. */
export const openPaths = (directory: string): string[] => {
  const file = databaseFile(directory)
  return [file, `${file}-wal`, `${file}-shm`, lockFile(directory)]
}

/** Another program wrote into the database, or cut its log. */
export const SPOILT = 'WAYBILL_SPOILT'

/** The files are damaged. Writing on would make it worse. */
export const isDamage = (error: unknown): boolean =>
  /^(SQLITE_(CORRUPT|NOTADB)|WAYBILL_SPOILT)/.test((error as { code?: string }).code ?? '')

/** Up to here a database is looked through at every start, and rewritten where that lets it shrink, bytes. */
const SMALL = 256 * 2 ** 20

/** What an operator can do, by SQLite's code; the first that the code begins with. */
const REMEDIES: readonly (readonly [code: string, remedy: string])[] = [
  ['SQLITE_CORRUPT', 'the database is damaged; move it away, or restore it from a copy. It was not changed'],
  ['SQLITE_NOTADB', 'waybill.db is not a database; move it away. It was not changed'],
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
  ['EROFS', 'the file system is read-only; set another directory with WAYBILL_DATA'],
  ['EACCES', 'set its owner and mode, or another directory with WAYBILL_DATA'],
  ['ENOSPC', 'the disk is full; free some space, or set another directory with WAYBILL_DATA'],
]

/** A refusal in one line: what happened, where, what to do. */
export function refusal(directory: string, cause: unknown): StoreError {
  if (cause instanceof StoreError) return cause
  const { message, code = '' } = cause as Error & { code?: string }
  const remedy = REMEDIES.find(([begin]) => code.startsWith(begin))?.[1]
  const text = `cannot use data directory ${directory}: ${message}${remedy ? `; ${remedy}` : ''}`
  return new StoreError(text.replaceAll('\n', ' '), { cause })
}

export interface Claim {
  release(): void
  /** The calls that a killed gateway left open. */
  readonly interrupted: readonly TracedCall[]
}

/**
 * Creates the directory (0700) and the database (0600) where there is none, checks and migrates them, and
 * marks what a killed gateway left open. `release` gives the directory free again; the operating system does
 * the same when the process dies.
 */
export function claim(directory: string, now: number, fleet = false): Claim {
  let release: (() => void) | undefined
  try {
    release = lockDirectory(directory)
    const file = databaseFile(directory)
    const fresh = !existsSync(file)
    const db = new Database(file, { timeout: BUSY_MS })
    if (fresh) chmodSync(file, 0o600)
    try {
      if (!fresh && statSync(file).size <= SMALL) check(db)
      makeShrinkable(db, file)
      db.pragma('journal_mode = WAL')
      migrate(db)
      if (fleet) fillOutbox(db)
      return { release, interrupted: interrupt(db, now) }
    } finally {
      db.close()
    }
  } catch (cause) {
    release?.()
    throw refusal(directory, cause)
  }
}

/** How long another program may hold the database, ms. */
export const BUSY_MS = 1_000

/** A damaged page in the middle would show itself only when it is read. */
function check(db: Database.Database): void {
  const [found] = db.pragma('quick_check(1)') as { quick_check: string }[]
  if (found && found.quick_check !== 'ok')
    throw Object.assign(new Error(found.quick_check), { code: 'SQLITE_CORRUPT' })
}

/** Space that deleted calls leave can be given back. A large database of an old release keeps and reuses it. */
function makeShrinkable(db: Database.Database, file: string): void {
  const isSet = db.pragma('auto_vacuum', { simple: true }) === 2
  if (isSet || statSync(file).size > SMALL) return
  db.pragma('journal_mode = DELETE')
  db.pragma('auto_vacuum = INCREMENTAL')
  db.exec('VACUUM')
}

/** What was open when the process died: the call is `interrupted`, its attempt `unknown`, what was set aside is spent. */
function interrupt(db: Database.Database, now: number): TracedCall[] {
  return db.transaction(() => {
    chargeReservations(db)
    db.prepare(
      `UPDATE call_attempts SET outcome = 'unknown', ended_at = ? WHERE outcome = 'open'
         AND call_id IN (SELECT id FROM call_logs WHERE completed_at IS NULL)`,
    ).run(now)
    const rollUps = openRollUps(db)
    const interrupted = db
      .prepare<[number], ClosedCall & TracedCall>(
        `UPDATE call_logs SET state = 'interrupted', completed_at = ? WHERE completed_at IS NULL
           RETURNING ${CLOSED_CALL}, traceparent`,
      )
      .all(now)
    for (const call of interrupted) rollUps.count(call)
    rollUps.settle()
    return interrupted.map(({ id, traceparent }) => ({ id, traceparent }))
  })()
}

// Opens the data directory: one owner at a time, the newest schema, no call left open by a gateway that died.
// Never replaces an existing database.
import { chmodSync, existsSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { migrate } from './migrations.ts'
import { CLOSED_CALL, type ClosedCall, openRollUps } from './roll-ups.ts'

export type Durability = 'process' | 'full'

/** The data directory cannot be used; the message says why and what to do. */
export class StoreError extends Error {
  override readonly name = 'StoreError'
}

export const databaseFile = (directory: string): string => join(directory, 'waybill.db')

/**
 * Creates the directory (0700) and the database (0600) where there is none, checks and migrates them, and
 * marks what a killed gateway left open. Returns a function that gives the directory free again; the
 * operating system does the same when the process dies.
 */
export function claim(directory: string, now: number): () => void {
  let lock: Database.Database | undefined
  try {
    mkdirSync(directory, { recursive: true, mode: 0o700 })
    lock = takeLock(directory)
    const file = databaseFile(directory)
    const fresh = !existsSync(file)
    const db = new Database(file)
    if (fresh) chmodSync(file, 0o600)
    try {
      db.pragma('journal_mode = WAL')
      migrate(db)
      interrupt(db, now)
    } finally {
      db.close()
    }
    const held = lock
    return () => held.close()
  } catch (cause) {
    lock?.close()
    if (cause instanceof StoreError) throw cause
    throw new StoreError(`cannot use data directory ${directory}: ${(cause as Error).message}`, { cause })
  }
}

/** An exclusive lock held by SQLite's own file locking, which ends with the process, however it ends. */
function takeLock(directory: string): Database.Database {
  const file = join(directory, 'waybill.lock')
  const lock = new Database(file, { timeout: 0 })
  try {
    chmodSync(file, 0o600)
    lock.exec('BEGIN EXCLUSIVE')
    return lock
  } catch (cause) {
    lock.close()
    if ((cause as { code?: string }).code !== 'SQLITE_BUSY') throw cause
    throw new StoreError(
      `data directory ${directory} is in use by another Waybill; stop that one, or set another directory with WAYBILL_DATA`,
    )
  }
}

/** What was open when the process died: the call is `interrupted`, its attempt `unknown`. */
function interrupt(db: Database.Database, now: number): void {
  db.transaction(() => {
    db.prepare(
      `UPDATE call_attempts SET outcome = 'unknown', ended_at = ? WHERE outcome = 'open'
         AND call_id IN (SELECT id FROM call_logs WHERE completed_at IS NULL)`,
    ).run(now)
    const rollUps = openRollUps(db)
    const interrupted = db.prepare<[number], ClosedCall>(
      `UPDATE call_logs SET state = 'interrupted', completed_at = ? WHERE completed_at IS NULL
         RETURNING ${CLOSED_CALL}`,
    )
    for (const call of interrupted.all(now)) rollUps.count(call)
    rollUps.settle()
  })()
}

// Ensures that each data directory has one gateway. One lock is in the directory. A second lock is on the
// directory's name, and holds even if the directory is deleted or replaced under the running gateway. Both
// locks end with the process, even after a crash. Independent of the record.
import { createHash } from 'node:crypto'
import { chmodSync, lstatSync, mkdirSync, realpathSync, rmSync, statSync } from 'node:fs'
import { tmpdir, userInfo } from 'node:os'
import { basename, dirname, join, resolve } from 'node:path'
import Database from 'better-sqlite3'
import { lockFile, refuseStart, StoreError, unusable } from './data-files.ts'

/** Time to wait for the lock, ms. `doctor` holds it briefly when it checks for a gateway. */
const LOCK_MS = 500

/** Creates the directory (0700) if needed and holds it until the returned function is called. */
export function lockDirectory(directory: string): () => void {
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

// Compares the names in the data directory with the files that the store has open. If they differ, writes are
// lost when the process ends, or the next start opens other files. A symbolic link always counts as another
// file: SQLite names the log after the target of a link to a database, and opens no log that is a link. Uses
// paths and inodes, but no SQL.
import { type BigIntStats, lstatSync, readlinkSync, statSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'

/** A file as it was when the store was opened. */
interface OpenFile {
  readonly path: string
  readonly device: bigint
  readonly inode: bigint
}

/** Files that are open; can be passed to a thread. */
export type OpenFiles = readonly OpenFile[]

/** Records the identity of these files; throws if one is missing. */
export const noteFiles = (paths: readonly string[]): OpenFiles =>
  paths.map((path) => {
    const { dev, ino } = lstatSync(path, { bigint: true })
    return { path, device: dev, inode: ino }
  })

/**
 * Returns the reason why a path cannot be a file of the store, and a remedy. Returns null if it can be one, or if no
 * file exists there.
 */
export function unusable(path: string): string | null {
  const found = lstatSync(path, { throwIfNoEntry: false })
  if (!found || found.isFile()) return null
  const name = basename(path)
  if (!found.isSymbolicLink()) return `${name} is not a file; move it away`
  const remedy = 'put the file itself in its place, or link the whole directory; nothing was changed'
  return `${name} is a symbolic link to ${readlinkSync(path)}; ${remedy}`
}

/** Reports a write-ahead log without its database. SQLite would delete the log and create a new database. */
export function orphanedLog(database: string): string | null {
  const sizeOf = (path: string) => lstatSync(path, { throwIfNoEntry: false })?.size
  const size = sizeOf(database)
  const log = `${database}-wal`
  if (size || !sizeOf(log)) return null
  const what = `${basename(database)} is ${size === undefined ? 'gone' : 'empty'}, but its log ${basename(log)} is there`
  return `${what}; put the database back, or move the log away, too; nothing was changed`
}

/** Returns the problem and a remedy as a message for an operator; null while every path leads to its file. */
export function lostFile(files: OpenFiles): string | null {
  for (const file of files) {
    const change = changeOf(file)
    if (change !== null) return `${basename(file.path)} ${change}`
  }
  return null
}

/**
 * Time for which a change may leave a directory's timestamps unchanged, because the file system's clock is
 * coarse, ms.
 */
const COARSE_MS = 100

/**
 * Returns `lostFile` for one directory. The returned function checks the files only if a name in the
 * directory may have changed.
 */
export function watchNames(files: OpenFiles): () => string | null {
  const directory = dirname(files[0]!.path)
  let seen: BigIntStats | null = null
  return () => {
    const now = stateOf(directory)
    if (now && seen && NAMED_BY.every((field) => now[field] === seen![field])) return null
    const lost = lostFile(files)
    const isOld = now !== null && Date.now() - Number(now.ctimeMs) > COARSE_MS
    seen = lost === null && isOld ? now : null
    return lost
  }
}

/** Returns null if the directory cannot be read. */
function stateOf(directory: string): BigIntStats | null {
  try {
    return statSync(directory, { bigint: true })
  } catch {
    return null
  }
}

const NAMED_BY = ['dev', 'ino', 'mtimeNs', 'ctimeNs'] as const

function changeOf({ path, device, inode }: OpenFile): string | null {
  let found: BigIntStats | undefined
  try {
    found = lstatSync(path, { bigint: true, throwIfNoEntry: false })
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code !== 'ENOTDIR') return `cannot be looked at (${code}); make its directory accessible again`
  }
  if (found?.ino === inode && found.dev === device) return null
  if (found?.isSymbolicLink())
    return 'was replaced by a symbolic link; put the file itself in its place again'
  const what = found ? 'was replaced by another file' : 'is gone'
  return `${what}; put the same file back, or restart the gateway`
}

/** Thrown when the data directory cannot be used. The message says why, and how to fix it. */
export class StoreError extends Error {
  override readonly name = 'StoreError'
}

/** Returns the lock file of a running gateway. */
export const lockFile = (directory: string): string => join(directory, 'waybill.lock')

/** Throws if a gateway must not start. */
export function refuseStart(directory: string, reason: string | null): void {
  if (reason !== null) throw new StoreError(`cannot use data directory ${directory}: ${reason}`)
}

// Commits openings on the main thread while no other connection writes, so that a call wakes no thread before it
// leaves. Never waits: neither for a lock, which the writer thread takes its turn for, nor for the disk, because
// only the writer folds the log into the database, and begins it again after that.
import Database from 'better-sqlite3'
import type { CommitHere } from '../queue.ts'
import { type OpenFiles, watchNames } from './data-files.ts'
import { type Descriptors, isLogFolded, watchOverwrites } from './overwrites.ts'
import { UnansweredError } from './thread.ts'
import { prepareOpenings } from './write-statements.ts'

/** Pages of this connection's cache, KiB: an opening touches the ends of two tables and their indexes. */
const CACHE_KIB = 256

export interface Here {
  readonly commit: CommitHere
  /** Close it before the writer's connection: the last one folds the log in. */
  close(): void
}

/** Opens a connection of its own. Throws SQLite's error. */
export function openHere(file: string, files: OpenFiles, descriptors: Descriptors): Here {
  const db = new Database(file, { timeout: 0, fileMustExist: true })
  db.pragma('synchronous = NORMAL')
  db.pragma('wal_autocheckpoint = 0')
  db.pragma(`cache_size = -${CACHE_KIB}`)
  const overwritten = watchOverwrites(descriptors, db.pragma('page_size', { simple: true }) as number)
  const lostName = watchNames(files)
  const open = prepareOpenings(db)
  const commitAll = db.transaction((openings: Parameters<CommitHere>[0]) => {
    for (const opening of openings) open(opening)
  }).immediate

  return {
    commit(openings) {
      if (overwritten() !== null || isLogFolded(descriptors)) return 'not possible'
      try {
        commitAll(openings)
      } catch (error) {
        // The writer finds out any other reason, and what is to be done.
        return (error as { code?: string }).code?.startsWith('SQLITE_BUSY') ? 'locked' : 'not possible'
      }
      // Checked afterwards: nothing may leave that went into a file without a name, even if it is on record.
      const lost = lostName()
      if (lost !== null) throw new UnansweredError(lost)
      return 'committed'
    },
    close: () => void db.close(),
  }
}

// Commits openings on the main thread while no other connection writes, so that a call wakes no thread before
// it leaves. Never waits. If there is a lock, the writer thread waits for it. The disk causes no wait,
// because only the writer checkpoints the write-ahead log and restarts it afterwards.
import Database from 'better-sqlite3'
import type { CommitHere } from '../queue.ts'
import { type OpenFiles, watchNames } from './data-files.ts'
import { type Descriptors, watchOverwrites } from './overwrites.ts'
import { UnansweredError } from './thread.ts'
import { prepareOpenings } from './write-statements.ts'

/** Size of this connection's page cache, KiB. An opening touches the ends of two tables and their indexes. */
const CACHE_KIB = 256

export interface Here {
  readonly commit: CommitHere
  /**
   * Closes the connection. Call before the writer closes its own, because the last one to close checkpoints
   * the log.
   */
  close(): void
}

/** Opens a separate connection. Throws SQLite's error. */
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
      if (overwritten() !== null || overwritten.isLogFolded()) return 'not possible'
      try {
        commitAll(openings)
      } catch (error) {
        // The writer thread detects and handles any other reason.
        return (error as { code?: string }).code?.startsWith('SQLITE_BUSY') ? 'locked' : 'not possible'
      }
      // Checked afterwards: nothing may leave if its record went into a file that no longer has a name.
      const lost = lostName()
      if (lost !== null) throw new UnansweredError(lost)
      return 'committed'
    },
    close: () => void db.close(),
  }
}

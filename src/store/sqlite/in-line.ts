// The work of a store's threads, and the same on the main thread.

import Database from 'better-sqlite3'
import { lostFile } from './data-files.ts'
import { BUSY_MS } from './open.ts'
import { openReads, type Read, type ReaderData } from './reads.ts'
import { type Requests, type StartThread, startInLine, type ThreadName } from './thread.ts'
import { Writer, type WriterData } from './writer.ts'

/** Opens what carries out the requests of a thread. */
export const openRequests = (name: ThreadName, data: object): Requests =>
  name === 'writer' ? new Writer(data as WriterData) : answerReads(data as ReaderData)

export const startOnMainThread: StartThread = (name, data) => startInLine(() => openRequests(name, data))

/** Opens the reads of a database on a connection of their own. */
function answerReads({ file, files }: ReaderData): Requests {
  /** Throws if the files are not in their places, because then the data is not the record. */
  const stay = () => {
    const lost = lostFile(files)
    if (lost !== null) throw new Error(lost)
  }
  stay() // otherwise another database could be opened
  const db = new Database(file, { readonly: true, timeout: BUSY_MS, fileMustExist: true })
  const reads = openReads(db)
  /** All queries of a read see the same state of the database. */
  const run = db.transaction(([name, args]: Read) =>
    (reads[name] as (...args: unknown[]) => unknown)(...args),
  )
  return {
    answer(read: Read) {
      const found = run(read)
      stay()
      return found
    },
    stop: () => void db.close(),
  }
}

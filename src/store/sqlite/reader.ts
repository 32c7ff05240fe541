// The reader thread. Owns a connection that cannot write, and answers one read after the other.
import { workerData } from 'node:worker_threads'
import Database from 'better-sqlite3'
import { lostFile } from './data-files.ts'
import { BUSY_MS } from './open.ts'
import { openReads, type Read, type ReaderData } from './reads.ts'
import { answerRequests } from './thread.ts'

const { file, files } = workerData as ReaderData
stay() // otherwise another database could be opened
const db = new Database(file, { readonly: true, timeout: BUSY_MS, fileMustExist: true })
const reads = openReads(db)
/** All queries of a read see the same state of the database. */
const run = db.transaction(([name, args]: Read) => (reads[name] as (...args: unknown[]) => unknown)(...args))

/** Throws if the files are not in their places, because then the data is not the record. */
function stay(): void {
  const lost = lostFile(files)
  if (lost !== null) throw new Error(lost)
}

answerRequests(
  (read: Read) => {
    const found = run(read)
    stay()
    return found
  },
  () => db.close(),
)

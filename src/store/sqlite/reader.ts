// The reader thread: owns a connection that cannot write, answers one read after the other.
import { workerData } from 'node:worker_threads'
import Database from 'better-sqlite3'
import { BUSY_MS } from './open.ts'
import { openReads, type Read, type ReaderData } from './reads.ts'
import { answerRequests } from './thread.ts'

const { file } = workerData as ReaderData
const db = new Database(file, { readonly: true, timeout: BUSY_MS, fileMustExist: true })
const reads = openReads(db)
/** What a read is made of belongs to one moment. */
const run = db.transaction(([name, args]: Read) => (reads[name] as (...args: unknown[]) => unknown)(...args))

answerRequests(run, () => db.close())

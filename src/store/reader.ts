// The reader thread: owns a connection that cannot write, answers one read after the other.
import { parentPort, workerData } from 'node:worker_threads'
import Database from 'better-sqlite3'
import { type Answered, type Asked, openReads, type ReaderData } from './reads.ts'

const { file } = workerData as ReaderData
const db = new Database(file, { readonly: true, fileMustExist: true })
const reads = openReads(db)
/** What a read is made of belongs to one moment. */
const run = db.transaction(({ name, args }: Asked) =>
  (reads[name] as (...args: unknown[]) => unknown)(...args),
)

parentPort!.on('message', (asked: Asked | null) => {
  if (asked === null) {
    db.close()
    process.exit()
  }
  try {
    parentPort!.postMessage({ n: asked.n, value: run(asked) } satisfies Answered)
  } catch (error) {
    const { message, code } = error as Error & { code?: string }
    parentPort!.postMessage({ n: asked.n, failure: { message, code } } satisfies Answered)
  }
})

// The writer thread: owns the one connection that writes, commits a batch at a time, answers each batch once.
import { parentPort, workerData } from 'node:worker_threads'
import Database from 'better-sqlite3'
import { prepareWrites, type Write } from './writes.ts'

const { file, durability } = workerData as { file: string; durability: 'process' | 'full' }
const db = new Database(file, { timeout: 2_000, fileMustExist: true })
db.pragma(`synchronous = ${durability === 'full' ? 'FULL' : 'NORMAL'}`)
const run = prepareWrites(db)
const commit = db.transaction((batch: Write[]) => {
  for (const write of batch) run(write)
})

parentPort!.on('message', (batch: Write[] | null) => {
  if (batch === null) {
    db.close()
    process.exit()
  }
  try {
    commit(batch)
    parentPort!.postMessage(null)
  } catch (error) {
    parentPort!.postMessage((error as Error).message)
  }
})

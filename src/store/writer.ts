// The writer thread: owns the one connection that writes, commits a batch at a time, answers each batch once.
import { parentPort, workerData } from 'node:worker_threads'
import Database from 'better-sqlite3'
import { createPricer, type Pricing } from '../pricing.ts'
import type { Durability } from './open.ts'
import { openRollUps } from './roll-ups.ts'
import { prepareWrites, type Write } from './writes.ts'

export interface WriterData {
  readonly file: string
  readonly durability: Durability
  readonly pricing: Pricing
}

const { file, durability, pricing } = workerData as WriterData
const db = new Database(file, { timeout: 2_000, fileMustExist: true })
db.pragma(`synchronous = ${durability === 'full' ? 'FULL' : 'NORMAL'}`)
const rollUps = openRollUps(db)
const run = prepareWrites(db, createPricer(pricing), rollUps)
const commit = db.transaction((batch: Write[]) => {
  for (const write of batch) run(write)
  rollUps.settle()
})

parentPort!.on('message', (batch: string | null) => {
  if (batch === null) {
    db.close()
    process.exit()
  }
  try {
    commit(JSON.parse(batch))
    parentPort!.postMessage(null)
  } catch (error) {
    rollUps.forget()
    parentPort!.postMessage((error as Error).message)
  }
})

// The writer thread: owns the one connection that writes, commits a batch at a time, answers each batch once.
import { parentPort, workerData } from 'node:worker_threads'
import Database from 'better-sqlite3'
import { createPricer, type Pricing } from '../pricing.ts'
import type { Durability } from './open.ts'
import { prepareWrites, type Write } from './writes.ts'

export interface WriterData {
  readonly file: string
  readonly durability: Durability
  readonly pricing: Pricing
}

const { file, durability, pricing } = workerData as WriterData
const db = new Database(file, { timeout: 2_000, fileMustExist: true })
db.pragma(`synchronous = ${durability === 'full' ? 'FULL' : 'NORMAL'}`)
let price = createPricer(pricing)
const run = prepareWrites(db, (...attempt) => price(...attempt))
const commit = db.transaction((batch: Write[]) => {
  for (const write of batch) run(write)
})

/** A batch as JSON, other prices, or the end. */
type Message = string | { readonly pricing: Pricing } | null

parentPort!.on('message', (message: Message) => {
  if (message === null) {
    db.close()
    process.exit()
  }
  if (typeof message === 'object') {
    price = createPricer(message.pricing)
    return
  }
  try {
    commit(JSON.parse(message))
    parentPort!.postMessage(null)
  } catch (error) {
    parentPort!.postMessage((error as Error).message)
  }
})

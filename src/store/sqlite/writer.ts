// The writer thread: owns the one connection that writes. Commits a batch at a time; between batches it keeps
// artifacts and deletes what is too old. Once the database is found to be damaged, it writes nothing any more.

import { workerData } from 'node:worker_threads'
import Database from 'better-sqlite3'
import type { Artifact, ArtifactLimits } from '../artifact-buffer.ts'
import type { Durability, RetentionLimits } from '../store.ts'
import type { Write } from '../writes.ts'
import { openArtifactRing } from './artifacts.ts'
import { BUSY_MS, isDamage } from './open.ts'
import { openRetention } from './retention.ts'
import { openRollUps } from './roll-ups.ts'
import { answerRequests } from './thread.ts'
import { prepareWrites } from './write-statements.ts'

export interface WriterData {
  readonly file: string
  readonly durability: Durability
  readonly retention: RetentionLimits
  readonly artifacts: ArtifactLimits
}

/**
 * What the writer is asked: to commit a batch of writes, as text, because the structured clone of these objects costs
 * more; to keep artifacts; to delete what is older than a moment; or to touch nothing any more.
 */
export type WriterRequest =
  | string
  | { readonly artifacts: readonly Artifact[] }
  | { readonly expire: number }
  | { readonly damaged: string }

const { file, durability, retention: limits, artifacts } = workerData as WriterData
const db = new Database(file, { timeout: BUSY_MS, fileMustExist: true })
db.pragma(`synchronous = ${durability === 'full' ? 'FULL' : 'NORMAL'}`)
db.pragma('foreign_keys = OFF') // deleting a price would look through all calls; the roll-ups know what is used
const schema = db.pragma('user_version', { simple: true })
const rollUps = openRollUps(db)
const run = prepareWrites(db, rollUps)
const ring = openArtifactRing(db, artifacts)
const retention = openRetention(db, limits, rollUps)
let damaged: string | null = null
/** A step of cleaning up is about to run. */
let cleaning = false
/** Why the last one failed. */
let uncleaned: string | null = null

const commit = db.transaction((batch: Write[]) => {
  for (const write of batch) run(write)
  rollUps.settle()
  // An empty batch asks whether writing is possible at all, so something has to be written.
  if (batch.length === 0) db.pragma(`user_version = ${schema}`)
})

function answer(request: WriterRequest): void {
  if (typeof request === 'object' && 'damaged' in request) damaged ??= request.damaged
  if (damaged !== null) throw new Error(damaged)
  try {
    if (typeof request === 'string') commit(JSON.parse(request))
    else if ('artifacts' in request) ring.keep(request.artifacts)
    else if ('expire' in request) expire(request.expire)
  } catch (error) {
    rollUps.forget()
    note(error)
    throw error
  } finally {
    cleanSoon()
  }
}

/** Tells, too, when deleting has failed since it was asked for last. */
function expire(before: number): void {
  const failure = uncleaned
  uncleaned = null
  retention.expire(before)
  if (failure !== null) throw new Error(`old calls cannot be deleted: ${failure}`)
}

/** After the answer, and after whatever was asked meanwhile. */
function cleanSoon(): void {
  if (!cleaning) setImmediate(clean)
  cleaning = true
}

function clean(): void {
  cleaning = false
  if (damaged !== null) return
  try {
    if (retention.step()) cleanSoon()
  } catch (error) {
    uncleaned = (error as Error).message
    note(error)
  }
}

function note(error: unknown): void {
  if (isDamage(error)) damaged = (error as Error).message
}

answerRequests(answer, () => {
  if (damaged === null) db.close()
})

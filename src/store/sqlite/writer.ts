// The writer thread: owns the one connection that writes. Commits a batch at a time; between batches it keeps
// artifacts and deletes what is too old. It writes nothing while the files are not where they were opened, and stops
// writing once they are found to be damaged. Over 250 lines, because every check is made around the one connection that
// writes.
import { openSync, readSync, statSync } from 'node:fs'
import { workerData } from 'node:worker_threads'
import Database from 'better-sqlite3'
import type { Artifact, ArtifactLimits } from '../artifact-buffer.ts'
import { reduced } from '../storable.ts'
import type { Durability, RetentionLimits } from '../store.ts'
import type { Write } from '../writes.ts'
import { openArtifactRing } from './artifacts.ts'
import { lostFile, type OpenFiles } from './data-files.ts'
import { BUSY_MS, isDamage, SPOILT } from './open.ts'
import { fillOutbox } from './outbox.ts'
import { type Descriptors, watchOverwrites } from './overwrites.ts'
import { openRetention } from './retention.ts'
import { openRollUps } from './roll-ups.ts'
import { answerRequests, UnansweredError } from './thread.ts'
import { prepareWrites } from './write-statements.ts'

export interface WriterData {
  readonly file: string
  readonly files: OpenFiles
  readonly descriptors: Descriptors
  readonly durability: Durability
  readonly retention: RetentionLimits
  readonly artifacts: ArtifactLimits
  /** What is written goes to the log of a fleet, too. */
  readonly fleet: boolean
}

/**
 * What the writer is asked: to commit a batch of writes, as text, because the structured clone of these objects costs
 * more, and answered with the reasons of those that are refused, see `Commit`; to keep artifacts; to delete what is older than a moment;
 * to touch nothing any more; or to look at the database.
 */
export type WriterRequest =
  | string
  | { readonly artifacts: readonly Artifact[] }
  | { readonly expire: number }
  /** The log of the fleet has taken the outbox up to here. */
  | { readonly shipped: number }
  | { readonly damaged: string }
  /** Nothing is written: only whether the database is still its own. */
  | { readonly look: true }

const { file, files, descriptors, durability, retention: limits, artifacts, fleet } = workerData as WriterData
/** Why nothing is written: the files are not where they were. */
let lost = lostFile(files)
if (lost !== null) throw new Error(lost)
const db = new Database(file, { timeout: BUSY_MS, fileMustExist: true })
db.pragma(`synchronous = ${durability === 'full' ? 'FULL' : 'NORMAL'}`)
db.pragma('foreign_keys = OFF') // deleting a price would look through all calls; the roll-ups know what is used
const schema = db.pragma('user_version', { simple: true })
const pageSize = db.pragma('page_size', { simple: true }) as number
const isOverwritten = watchOverwrites(descriptors, pageSize)
const rollUps = openRollUps(db)
const run = prepareWrites(db, rollUps)
const ring = openArtifactRing(db, artifacts)
const retention = openRetention(db, limits, rollUps, fleet)
if (fleet) fillOutbox(db)
const letGo = db.prepare('DELETE FROM outbox WHERE seq <= ?')
let damaged: string | null = null
/** A step of cleaning up is about to run. */
let cleaning = false
/** Why the last one failed. */
let uncleaned: string | null = null

/** The log is in the database; nothing has been written since. */
let isFolded = false
const log = `${file}-wal`
const logInode = files.find(({ path }) => path === log)!.inode
let logSize = 0
const logDescriptor = openSync(log, 'r')
const word = Buffer.alloc(4)

const commit = db.transaction((batch: Write[]) => {
  for (const write of batch) run(write)
  rollUps.settle()
  // An empty batch asks whether writing is possible at all, so something has to be written.
  if (batch.length === 0) db.pragma(`user_version = ${schema}`)
})

function answer(request: WriterRequest): unknown {
  if (typeof request === 'object' && 'damaged' in request) damaged ??= request.damaged
  if (damaged !== null) throw spoilt(damaged)
  try {
    refuseOverwritten()
    if ((lost !== null || request === '[]') && look() !== null) throw new Error(lost!)
    if (typeof request === 'string') return write(JSON.parse(request))
    if ('artifacts' in request) ring.keep(request.artifacts)
    else if ('expire' in request) expire(request.expire)
    else if ('shipped' in request) letGo.run(request.shipped)
    return null
  } catch (error) {
    rollUps.forget()
    note(error)
    throw error
  } finally {
    cleanSoon()
  }
}

/** Looks where the files are; returns why nothing may be written. */
function look(): string | null {
  lost = lostFile(files)
  if (lost === null) isFolded = false
  else fold()
  return lost
}

/**
 * Brings the log into the database, wherever that is now: a log that has lost its name would be lost with the process.
 * Another gateway may have begun where the lock is not ours any more, and two must not write.
 */
function fold(): void {
  if (isFolded || lostFile(files.filter(({ path }) => path.endsWith('.lock')))?.includes('another')) return
  isFolded = true
  try {
    db.pragma('wal_checkpoint(TRUNCATE)')
  } catch {
    // the reason that is told is the one that files are lost
  }
}

function write(batch: Write[]): (string | null)[] | null {
  refuseCutLog()
  const reasons = commitAll(batch)
  if (hasHole()) throw logWasCut()
  refuseOverwritten()
  // Looked at afterwards, so that nothing leaves that went into a file without a name; it may be on record all the same.
  if (look() !== null) throw new UnansweredError(lost!)
  return reasons
}

/** All in one transaction; where one of them is refused, each alone. */
function commitAll(batch: Write[]): (string | null)[] | null {
  try {
    if (batch.length === 0) proveWritable()
    commit(batch)
    return null
  } catch (error) {
    if (batch.length === 0 || !isRefusal(error)) throw error
  }
  rollUps.forget()
  try {
    return batch.map(commitAlone)
  } catch (error) {
    const { message, code } = error as Error & { code?: string }
    throw new UnansweredError(message, code)
  }
}

/** Returns why it is not written. A table may refuse what a provider said; then that is left out. */
function commitAlone(write: Write): string | null {
  let reason = ''
  for (const form of new Set([write, reduced(write)])) {
    try {
      commit([form])
      return null
    } catch (error) {
      rollUps.forget()
      if (!isRefusal(error)) throw error
      reason = (error as Error).message
    }
  }
  proveWritable() // where nothing of the kind can be written, it is not the fault of this one
  return reason
}

/** Opens and closes a call as any other, and undoes it. Throws where that is not possible. */
function proveWritable(): void {
  try {
    db.transaction(() => {
      for (const each of PROOF) run(each)
      rollUps.settle()
      throw UNDO
    })()
  } catch (error) {
    if (error !== UNDO) throw error
  } finally {
    rollUps.forget()
  }
}

/** The table refuses a value, in contrast to all that is wrong with the database or the disk. */
function isRefusal(error: unknown): boolean {
  const { code } = error as { code?: string }
  return (
    error instanceof TypeError ||
    error instanceof RangeError ||
    /^SQLITE_(CONSTRAINT|MISMATCH|TOOBIG|RANGE)/.test(code ?? '')
  )
}

/** Frames that are not in the file any more are lost, and those that follow would be lost with them. */
function refuseCutLog(): void {
  const found = statSync(log, { throwIfNoEntry: false })
  if (found?.ino !== logInode) return // that is said afterwards
  const { size } = found!
  const isShorter = size < logSize
  logSize = size
  if (!isShorter) return
  const [{ log: frames }] = db.pragma('wal_checkpoint(NOOP)') as [{ log: number }]
  if (frames > 0 && size < frames * pageSize) throw logWasCut()
}

/**
 * A log that was cut and written on within the same batch is as long as before, with nothing where its beginning was, or
 * where the last frame before this batch was. A header and a frame never begin with zeros.
 */
function hasHole(): boolean {
  const frame = FRAME_HEADER + pageSize
  // A write that the disk refused may have left a part of a frame at the end.
  const isWhole = logSize > LOG_HEADER && (logSize - LOG_HEADER) % frame === 0
  return isZero(0) || (isWhole && isZero(logSize - frame))
}

function isZero(at: number): boolean {
  return readSync(logDescriptor, word, 0, 4, at) === 4 && word.readUInt32BE() === 0
}

/** At the beginning of the log, and before each page in it, bytes. */
const LOG_HEADER = 32
const FRAME_HEADER = 24

const spoilt = (what: string): Error => Object.assign(new Error(what), { code: SPOILT })

const logWasCut = () => spoilt('waybill.db-wal was truncated by another program; restart the gateway')

/** The log belongs to pages that no longer exist: folded into the copy, it would make a mixture of both. */
function refuseOverwritten(): void {
  if (isOverwritten())
    throw spoilt(
      'waybill.db was overwritten by another program; stop the gateway, delete waybill.db-wal and waybill.db-shm, and put the file in place again',
    )
}

/** Tells, too, when deleting has failed since it was asked for last. */
function expire(before: number): void {
  const failure = uncleaned
  uncleaned = null
  retention.expire(before)
  if (failure !== null) throw new Error(`old calls cannot be deleted: ${failure}`)
}

/** How long cleaning up is put off, ms: many calls share a step, and no opening waits behind it. */
const CLEAN_MS = 20

/** Never before the answer; `atOnce`, because there is more to do, after whatever was asked meanwhile. */
function cleanSoon(atOnce = false): void {
  if (cleaning) return
  cleaning = true
  if (atOnce) setImmediate(clean)
  else setTimeout(clean, CLEAN_MS)
}

function clean(): void {
  cleaning = false
  if (damaged !== null || lost !== null) return
  try {
    refuseOverwritten()
    if (retention.step()) cleanSoon(true)
  } catch (error) {
    uncleaned = (error as Error).message
    note(error)
  }
}

function note(error: unknown): void {
  if (isDamage(error)) damaged = (error as Error).message
}

const UNDO = new Error('undone')
const NOBODY = { provider: '', model: '', tier: null, weight: 1 }
const NO_CALL = '00000000-0000-7000-8000-000000000000'
const PROOF: readonly Write[] = [
  {
    kind: 'open',
    call: {
      ...{
        id: NO_CALL,
        createdAt: 0,
        endpoint: '',
        requestedModel: '',
        sessionId: null,
        agentId: null,
        purpose: 'main',
        traceparent: null,
      },
      ...{ keyName: null, stream: false, cache: 'BYPASS', replayed: false },
    },
    route: { name: null, strategy: '', candidates: [NOBODY], decision: { cause: '', skipped: [] } },
  },
  {
    ...{ kind: 'close', id: NO_CALL, at: 0, requestsSent: 0, fallbacks: 0, target: NOBODY },
    ended: { n: 1, target: NOBODY, outcome: 'not_sent', status: null, errorCode: null, tokens: null },
    cost: { usd: null, price: null },
    outcome: {
      ...{ state: 'failed', status: null, errorCode: null, responseModel: null, latencyMs: 0, ttftMs: null },
      tokens: null,
    },
  },
]

answerRequests(answer, () => {
  if (damaged === null) db.close()
})

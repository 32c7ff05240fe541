// The writer of a store. Commits one batch at a time; between batches it stores artifacts and deletes old calls.
// Only an opening may be written elsewhere (`open-here.ts`). Writes nothing while the files are missing from
// their places, and stops once they prove to be damaged.
import { fstatSync } from 'node:fs'
import Database from 'better-sqlite3'
import { emptyCall } from '../../core/call.ts'
import type { Chore } from '../../core/upkeep.ts'
import { UNKNOWN_USAGE } from '../../pricing/cost.ts'
import { clock } from '../../shared/clock.ts'
import type { Artifact, ArtifactLimits } from '../artifact-buffer.ts'
import type { KeptRow } from '../kept.ts'
import type { RetentionLimits } from '../reads.ts'
import type { Durability } from '../store.ts'
import { reduced, type Write } from '../writes.ts'
import { openArtifactRing } from './artifacts.ts'
import { lostFile, type OpenFiles } from './data-files.ts'
import { openKeptTable } from './kept-rows.ts'
import { BUSY_MS, isDamage, SPOILT } from './open.ts'
import { fillOutbox } from './outbox.ts'
import { type Descriptors, framesOf, type Overwritten, watchOverwrites } from './overwrites.ts'
import { type Attempt, openRetention } from './retention.ts'
import { openRollUps } from './roll-ups.ts'
import { type Requests, UnansweredError } from './thread.ts'
import { prepareWrites } from './write-statements.ts'

export interface WriterData {
  readonly file: string
  readonly files: OpenFiles
  readonly descriptors: Descriptors
  readonly durability: Durability
  readonly retention: RetentionLimits
  readonly artifacts: ArtifactLimits
  /** True if calls also go to the log of a fleet. */
  readonly fleet: boolean
}

/**
 * Requests to the writer. A text is a batch of writes as JSON, because the structured clone of its objects
 * costs more. Its answer contains the reasons for refused writes, see `Commit`. Other requests store
 * artifacts; delete calls older than a moment and expired stored responses; store or delete a response; stop all
 * writing; or check the database, which answers with a `ChoreReport`.
 */
/** The ends of chores since the last report: a reason for each failure. */
export type ChoreReport = Partial<Record<Chore, string | null>>

export type WriterRequest =
  | string
  | { readonly artifacts: readonly Artifact[] }
  | { readonly expire: number; readonly now: number }
  | { readonly keep: KeptRow }
  | { readonly drop: readonly [id: string, keyName: string] }
  /** The fleet's log has received the outbox up to this entry. */
  | { readonly shipped: number }
  | { readonly damaged: string }
  /** Checks, without writing, that the database is still the one that was opened. */
  | { readonly look: true }

/** Stored responses may use this fraction of all bytes (1 / KEPT_DIVISOR). */
const KEPT_DIVISOR = 2

/** Delay of clean-up, ms. Many calls share a step, and no opening waits for it. */
const CLEAN_MS = 20

/** Carries out requests one after the other: in the writer thread, or on the main thread in tests. */
export class Writer implements Requests {
  readonly #files: OpenFiles
  readonly #descriptors: Descriptors
  readonly #db: Database.Database
  readonly #schema: unknown
  readonly #overwritten: () => Overwritten | null
  readonly #rollUps: ReturnType<typeof openRollUps>
  readonly #run: (write: Write) => void
  readonly #ring: ReturnType<typeof openArtifactRing>
  readonly #retention: ReturnType<typeof openRetention>
  readonly #kept: ReturnType<typeof openKeptTable>
  readonly #letGo: Database.Statement
  readonly #commit: (batch: Write[]) => void
  #ended: ChoreReport = {}
  /** Reason why nothing is written: the files are not in their places. */
  #lost: string | null
  #damaged: string | null = null
  /** True while a clean-up step is scheduled. */
  #isCleaning = false
  /** True if the write-ahead log is checkpointed and nothing has been written since. */
  #isFolded = false

  constructor({ file, files, descriptors, durability, retention, artifacts, fleet }: WriterData) {
    this.#lost = lostFile(files)
    if (this.#lost !== null) throw new Error(this.#lost)
    this.#files = files
    this.#descriptors = descriptors
    const db = new Database(file, { timeout: BUSY_MS, fileMustExist: true })
    db.pragma(`synchronous = ${durability === 'full' ? 'FULL' : 'NORMAL'}`)
    db.pragma('foreign_keys = OFF') // otherwise deleting a price would scan all calls
    this.#db = db
    this.#schema = db.pragma('user_version', { simple: true })
    this.#overwritten = watchOverwrites(descriptors, db.pragma('page_size', { simple: true }) as number)
    this.#rollUps = openRollUps(db)
    this.#run = prepareWrites(db, this.#rollUps)
    this.#ring = openArtifactRing(db, artifacts)
    const attempt: Attempt = (chore, part) => this.#attempt(chore, part)
    const frames = () => framesOf(descriptors)
    this.#retention = openRetention(db, retention, this.#rollUps, frames, attempt, fleet)
    if (fleet) fillOutbox(db)
    this.#kept = openKeptTable(db, retention.bytes / KEPT_DIVISOR, this.#retention.emptyLog)
    this.#letGo = db.prepare('DELETE FROM outbox WHERE seq <= ?')
    this.#commit = db.transaction((batch: Write[]) => {
      for (const write of batch) this.#run(write)
      this.#rollUps.settle()
      // An empty batch checks whether writing is possible at all, so something must be written.
      if (batch.length === 0) db.pragma(`user_version = ${this.#schema}`)
    })
  }

  answer(request: WriterRequest): unknown {
    if (typeof request === 'object' && 'damaged' in request) this.#damaged ??= request.damaged
    if (this.#damaged !== null) throw spoilt(this.#damaged)
    try {
      this.#refuseOverwritten()
      if ((this.#lost !== null || request === '[]') && this.#look() !== null) throw new Error(this.#lost!)
      if (typeof request === 'string') return this.#write(JSON.parse(request))
      if ('artifacts' in request) this.#ring.keep(request.artifacts)
      else if ('expire' in request) this.#expire(request)
      else if ('keep' in request) this.#kept.keep(request.keep)
      else if ('drop' in request) return this.#kept.drop(...request.drop)
      else if ('shipped' in request) this.#letGo.run(request.shipped)
      else if ('look' in request) return this.#report()
      return null
    } catch (error) {
      this.#rollUps.forget()
      throw this.#reasonOf(error)
    } finally {
      this.#cleanSoon(this.#retention.isUrgent())
    }
  }

  /** Checks the places of the files. Returns the reason if nothing may be written. */
  #look(): string | null {
    this.#lost = lostFile(this.#files)
    if (this.#lost === null) this.#isFolded = false
    else this.#fold()
    return this.#lost
  }

  /**
   * Checkpoints the write-ahead log into the open database, even if that file has moved, because a log without a name
   * would be lost with the process. If this process no longer holds the lock, another gateway may have started, and two
   * gateways must not write. If the database itself has no name, its log remains for a copy that a move to another file
   * system made.
   */
  #fold(): void {
    const isLockReplaced = lostFile(this.#files.filter(({ path }) => path.endsWith('.lock')))?.includes(
      'replaced',
    )
    if (this.#isFolded || isLockReplaced || fstatSync(this.#descriptors.database).nlink === 0) return
    this.#isFolded = true
    try {
      this.#db.pragma('wal_checkpoint(TRUNCATE)')
    } catch {
      // the missing files are the reason to report
    }
  }

  #write(batch: Write[]): (string | null)[] | null {
    const reasons = this.#commitAll(batch)
    this.#refuseOverwritten()
    // Checked afterwards: nothing may leave if its record went into a file that no longer has a name.
    if (this.#look() !== null) throw new UnansweredError(this.#lost!)
    return reasons
  }

  /** Commits all writes in one transaction. If one of them is refused, commits each separately. */
  #commitAll(batch: Write[]): (string | null)[] | null {
    try {
      if (batch.length === 0) this.#proveWritable()
      this.#commit(batch)
      return null
    } catch (error) {
      if (batch.length === 0 || !isRefusal(error)) throw error
    }
    this.#rollUps.forget()
    try {
      return batch.map((write) => this.#commitAlone(write))
    } catch (error) {
      const { message, code } = error as Error & { code?: string }
      throw new UnansweredError(message, code)
    }
  }

  /**
   * Returns the reason if the write fails. If a table refuses the provider's content, writes the rest without
   * it.
   */
  #commitAlone(write: Write): string | null {
    let reason = ''
    for (const form of new Set([write, reduced(write)])) {
      try {
        this.#commit([form])
        return null
      } catch (error) {
        this.#rollUps.forget()
        if (!isRefusal(error)) throw error
        reason = (error as Error).message
      }
    }
    this.#proveWritable() // if no such write succeeds, this write is not the cause
    return reason
  }

  /** Opens and closes a call like any other, then rolls back. Throws if that fails. */
  #proveWritable(): void {
    try {
      this.#db.transaction(() => {
        for (const each of PROOF) this.#run(each)
        this.#rollUps.settle()
        throw UNDO
      })()
    } catch (error) {
      if (error !== UNDO) throw error
    } finally {
      this.#rollUps.forget()
    }
  }

  /** The log belongs to pages that no longer exist. A checkpoint would mix them with the copy. */
  #refuseOverwritten(): void {
    const error = this.#overwrittenError()
    if (error !== null) throw error
  }

  #overwrittenError(): Error | null {
    const which = this.#overwritten()
    return which === null ? null : spoilt(OVERWRITTEN[which])
  }

  /** Deletes expired calls soon, and expired responses now. */
  #expire({ expire, now }: { readonly expire: number; readonly now: number }): void {
    this.#retention.expire(expire)
    this.#attempt('delete_responses', () => {
      this.#kept.expire(now)
      return false
    })
  }

  #report(): ChoreReport {
    const all = this.#ended
    this.#ended = {}
    return all
  }

  /** Does a part of a chore. A failure is noted and ends nothing else. */
  #attempt(chore: Chore, part: () => boolean): boolean {
    try {
      const isMore = part()
      this.#ended[chore] ??= null
      return isMore
    } catch (error) {
      this.#rollUps.forget()
      this.#ended[chore] = this.#reasonOf(error).message
      return false
    }
  }

  /**
   * Schedules a clean-up step, never before the answer is sent. `atOnce`: only requests that have already
   * arrived may go first.
   */
  #cleanSoon(atOnce = false): void {
    if (atOnce) setImmediate(() => this.#clean())
    else if (!this.#isCleaning) clock.after(CLEAN_MS, () => this.#clean())
    this.#isCleaning = true
  }

  #clean(): void {
    this.#isCleaning = false
    if (this.#damaged !== null || this.#lost !== null || !this.#db.open) return
    const overwritten = this.#overwrittenError()
    if (overwritten) this.#reasonOf(overwritten)
    else if (this.#retention.step()) this.#cleanSoon(true)
  }

  /** Returns the cause of an error: a file that was overwritten meanwhile, or the error itself. Notes damage. */
  #reasonOf(error: unknown): Error {
    const reason = this.#overwrittenError() ?? (error as Error)
    if (isDamage(reason)) this.#damaged = reason.message
    return reason
  }

  stop(): void {
    if (this.#damaged === null) this.#db.close()
  }
}

/** Returns true if the table refuses a value. Returns false for problems of the database or the disk. */
function isRefusal(error: unknown): boolean {
  const { code } = error as { code?: string }
  return (
    error instanceof TypeError ||
    error instanceof RangeError ||
    /^SQLITE_(CONSTRAINT|MISMATCH|TOOBIG|RANGE)/.test(code ?? '')
  )
}

const spoilt = (what: string): Error => Object.assign(new Error(what), { code: SPOILT })

const OVERWRITTEN: Readonly<Record<Overwritten, string>> = {
  database:
    'waybill.db was overwritten by another program; stop the gateway, delete waybill.db-wal and waybill.db-shm, and put the file in place again',
  log: 'waybill.db-wal was truncated or overwritten by another program; restart the gateway',
  index: 'waybill.db-shm was truncated or overwritten by another program; restart the gateway',
}

const UNDO = new Error('undone')
const NOBODY = { provider: '', model: '', tier: null, weight: 1 }
const NO_CALL = '00000000-0000-7000-8000-000000000000'
const PROOF: readonly Write[] = [
  {
    kind: 'open',
    call: emptyCall(NO_CALL),
    route: { name: null, strategy: '', candidates: [NOBODY], decision: { cause: '', skipped: [] } },
  },
  {
    ...{ kind: 'close', id: NO_CALL, at: 0, requestsSent: 0, fallbacks: 0, target: NOBODY },
    ended: { n: 1, target: NOBODY, outcome: 'not_sent', status: null, errorCode: null, tokens: null },
    cost: UNKNOWN_USAGE,
    outcome: {
      ...{ state: 'failed', status: null, errorCode: null, responseModel: null, latencyMs: 0, ttftMs: null },
      tokens: null,
    },
  },
]

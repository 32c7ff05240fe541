// Deletes the oldest closed calls beyond the limits, with everything that belongs to them. Deletes a few at a
// time, so that no opening write waits long. Open calls are never deleted. Runs in the writer thread.
import { statSync } from 'node:fs'
import type { Database } from 'better-sqlite3'
import { idAt } from '../../core/call.ts'
import type { Chore } from '../../core/upkeep.ts'
import { clock } from '../../shared/clock.ts'
import type { Fill, FillReads, RetentionLimits } from '../reads.ts'
import { BUSY_MS } from './open.ts'
import { CLOSED_CALL, type ClosedCall, type RollUps } from './roll-ups.ts'

/**
 * Number of calls deleted in one step. This is more than a full batch of new calls adds, so deletion does not fall
 * behind.
 */
const CALLS_A_STEP = 64
const PAGES_A_STEP = 64
/** Maximum calls that may be open at the same time; they are counted only near the limit. */
const MAX_OPEN_CALLS = 10_000
/** Interval of checks of age and bytes, ms. These checks cost more than a comparison. */
const LOOK_MS = 20
/** Maximum wait for readers before the write-ahead log can be emptied, ms. Writing stops meanwhile. */
const READERS_MS = 500
/** Delay before the next attempt if readers did not finish, ms. */
const AGAIN_MS = 1_000

interface Retention {
  /** Marks calls made before this moment, ms since the epoch, for deletion. */
  expire(before: number): void
  /** True if the next step cannot wait. */
  isUrgent(): boolean
  /** Empties the write-ahead log immediately, or as soon as no reader needs it. */
  emptyLog(): void
  /** Does a small part of the pending work in a separate transaction. Returns false if no work is left. */
  step(): boolean
}

/** Does a part of a chore. Notes its failure, if it fails, and then returns false. */
export type Attempt = (chore: Chore, part: () => boolean) => boolean

/** Returns the part of the byte limit that is reserved for the write-ahead log. */
const walShare = (bytes: number): number => Math.min(bytes / 8, 16 * 2 ** 20)
/** Returns the part of the byte limit that is reserved for the database. */
const databaseShare = (bytes: number): number => bytes - 3 * walShare(bytes)
/** Share of a limit from which the oldest calls are deleted. */
const DELETION_SHARE = 0.9

/** Returns the used bytes of the database from which calls are deleted, for this limit. */
const deletesFrom = (bytes: number): number => databaseShare(bytes) * DELETION_SHARE

/** Returns the deletion work to do between batches. */
export function openRetention(
  db: Database,
  limits: RetentionLimits,
  rollUps: RollUps,
  /** Returns the number of frames in the write-ahead log. */
  frames: () => number,
  attempt: Attempt,
  fleet = false,
): Retention {
  const pageSize = db.pragma('page_size', { simple: true }) as number
  const canShrink = db.pragma('auto_vacuum', { simple: true }) === 2
  const log = keepLogShort(db, walShare(limits.bytes), pageSize, frames)
  const mostPages = Math.floor(databaseShare(limits.bytes) / pageSize)
  const mostUsed = Math.floor(deletesFrom(limits.bytes) / pageSize)

  const openCalls = db
    .prepare<[], number>('SELECT count(*) FROM call_logs WHERE completed_at IS NULL')
    .pluck()
  const pages = db.prepare<[], number>('PRAGMA page_count').pluck()
  const freePages = db.prepare<[], number>('PRAGMA freelist_count').pluck()
  const oldest = db.prepare<[string, number], ClosedCall>(
    `SELECT ${CLOSED_CALL} FROM call_logs WHERE completed_at IS NOT NULL AND id < ? ${fleet ? UNSHIPPED_STAY : ''} ORDER BY id LIMIT ?`,
  )
  const remove = prepareRemoval(db, rollUps)
  const removeOldest = (before: string, most: number): boolean => {
    const calls = oldest.all(before, most)
    if (calls.length === 0) return false
    try {
      remove(calls)
    } catch (error) {
      rollUps.forget()
      throw error
    }
    return true
  }

  let expired = ''
  let looked = 0

  return {
    isUrgent: log.isLong,
    emptyLog() {
      log.empty(true)
      looked = 0
    },
    expire(before) {
      expired = idAt(before)
      looked = 0
    },
    step() {
      if (log.isLong()) attempt('empty_log', log.fold)
      const isFuller = attempt('delete_calls', removeExcess)
      if (isFuller) looked = 0
      if (isFuller || clock.monotonic() - looked < LOOK_MS) return isFuller
      attempt('empty_log', log.empty)
      const due = attempt('delete_calls', removeTooMuch) || attempt('shrink_file', shrink)
      if (!due) looked = clock.monotonic()
      return due
    },
  }

  function removeExcess(): boolean {
    if (rollUps.calls <= limits.rows - MAX_OPEN_CALLS) return false
    const excess = rollUps.calls + openCalls.get()! - limits.rows
    return excess > 0 && removeOldest(EVERY_ID, Math.min(excess, CALLS_A_STEP))
  }

  function removeTooMuch(): boolean {
    if (removeOldest(expired, CALLS_A_STEP)) return true
    return pages.get()! - freePages.get()! > mostUsed && removeOldest(EVERY_ID, CALLS_A_STEP)
  }

  /** Truncates the file only if it is far too large, because free pages are reused. */
  function shrink(): boolean {
    const [all, free] = [pages.get()!, freePages.get()!]
    if (!canShrink || free === 0 || (all <= mostPages && free <= all / 4)) return false
    db.exec(`PRAGMA incremental_vacuum(${PAGES_A_STEP})`)
    return true
  }
}

/** Prepares the removal of closed calls, in one transaction. */
function prepareRemoval(db: Database, rollUps: RollUps) {
  const ofCall = [
    'DELETE FROM artifacts WHERE call_id = ?',
    'DELETE FROM call_attempts WHERE call_id = ?',
    'DELETE FROM call_logs WHERE id = ?',
  ].map((sql) => db.prepare(sql))
  return db.transaction((calls: readonly ClosedCall[]) => {
    for (const call of calls) {
      rollUps.count(call, -1)
      for (const statement of ofCall) statement.run(call.id)
    }
    rollUps.settle()
  })
}

/**
 * Keeps the write-ahead log short. After a complete checkpoint, SQLite restarts the log with the next write,
 * which waits for the disk. The next write should be a write of this thread, not an opening on the main
 * thread.
 */
function keepLogShort(db: Database, walBytes: number, pageSize: number, frames: () => number) {
  const most = Math.floor(Math.min(walBytes / 2 / pageSize, 1_000))
  const schema = db.pragma('user_version', { simple: true })
  db.pragma('wal_autocheckpoint = 0')
  db.pragma(`journal_size_limit = ${Math.floor(walBytes)}`)
  let emptyAt = 0
  /** True until the log has been emptied, regardless of its length. */
  let isWanted = false
  const checkpoint = (how: 'PASSIVE' | 'TRUNCATE'): boolean => {
    const [{ busy, log, checkpointed }] = db.pragma(`wal_checkpoint(${how})`) as [Checkpoint]
    if (log === checkpointed) db.pragma(`user_version = ${schema}`)
    return busy === 0
  }
  return {
    isLong: () => frames() >= most,
    fold() {
      checkpoint('PASSIVE')
      return false
    },
    /**
     * Empties a log that exceeds `walBytes` or has `isToBeEmpty`. The log can restart only while no reader uses it,
     * and such a moment may never come by itself.
     */
    empty(isToBeEmpty = false): boolean {
      isWanted ||= isToBeEmpty
      if (clock.monotonic() < emptyAt && !isToBeEmpty) return false
      if (!isWanted && (statSync(`${db.name}-wal`, { throwIfNoEntry: false })?.size ?? 0) <= walBytes)
        return false
      db.pragma(`busy_timeout = ${READERS_MS}`)
      try {
        if (checkpoint('TRUNCATE')) isWanted = false
        else emptyAt = clock.monotonic() + AGAIN_MS
      } finally {
        db.pragma(`busy_timeout = ${BUSY_MS}`)
      }
      return false
    },
  }
}

/** SQLite's result; `log` and `checkpointed` count frames. */
interface Checkpoint {
  readonly busy: number
  readonly log: number
  readonly checkpointed: number
}

/** Condition that spares calls that the shared log has not received: they are stored nowhere else. */
const UNSHIPPED_STAY = `AND id < coalesce((SELECT min(call_id) FROM outbox), 'g')`

/** Upper bound that sorts after every id. */
const EVERY_ID = 'g'

const DAY = 86_400_000

export interface Caps extends RetentionLimits {
  readonly days: number
}

/** A database opened by either library: the gateway's, or that of a command that reads from outside. */
interface Asked {
  prepare(sql: string): { get(): unknown }
}

/**
 * Returns the measured values. The database must have the newest schema. `now`: milliseconds since the epoch.
 */
export function fillOf(db: Asked, caps: Caps, now: number): { calls: number; fills: Fill[] } {
  const number = (sql: string): number => Number(Object.values(db.prepare(sql).get() ?? { none: 0 })[0])
  const calls =
    number('SELECT coalesce(sum(calls), 0) FROM usage_hours') +
    number('SELECT count(*) FROM call_logs WHERE completed_at IS NULL')
  const oldest = number('SELECT created_at FROM call_logs ORDER BY id LIMIT 1')
  const pages = number('PRAGMA page_count') - number('PRAGMA freelist_count')
  return {
    calls,
    fills: [
      { name: 'rows', have: calls, cap: caps.rows },
      {
        name: 'days',
        have: calls === 0 ? 0 : Math.round((100 * (now - oldest)) / DAY) / 100,
        cap: caps.days,
      },
      { name: 'bytes', have: pages * number('PRAGMA page_size'), cap: deletesFrom(caps.bytes) },
    ],
  }
}

export const openFillReads = (db: Asked): FillReads => ({ fill: (caps, now) => fillOf(db, caps, now) })

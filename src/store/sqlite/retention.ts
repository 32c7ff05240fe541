// What is deleted, and when: the oldest closed calls beyond the limits, with everything that belongs to them, a few
// at a time, so that no opening write waits long. Open calls are never deleted. Runs in the writer thread.

import { statSync } from 'node:fs'
import type { Database } from 'better-sqlite3'
import { idAt } from '../../call.ts'
import type { RetentionLimits } from '../store.ts'
import { BUSY_MS } from './open.ts'
import { CLOSED_CALL, type ClosedCall, type RollUps } from './roll-ups.ts'

/** Calls that one step deletes; more than a full batch of new calls brings, so that deleting keeps up. */
const CALLS_A_STEP = 64
const PAGES_A_STEP = 64
/** Calls that may be open at the same time; only near the limit are they counted. */
const MOST_OPEN = 10_000
/** How often it is looked at age and bytes, which cost more than a comparison, ms. */
const LOOK_MS = 20
/** How long writing may wait for readers so that the write-ahead log can be emptied, ms. */
const READERS_MS = 500
/** And how long that is left alone when they did not end, ms. */
const AGAIN_MS = 1_000

export interface Retention {
  /** What was made before this moment, ms since the epoch, is due from now on. */
  expire(before: number): void
  /** Does a little of what is due, in a transaction of its own. False when nothing is. */
  step(): boolean
}

/** The part of the bytes that belongs to the write-ahead log. */
const walShare = (bytes: number): number => Math.min(bytes / 8, 16 * 2 ** 20)
/** The rest belongs to the database, bytes. */
const databaseShare = (bytes: number): number => bytes - 3 * walShare(bytes)
/** How full it becomes before the oldest calls go. */
const FULL = 0.9

/** What of the database may be in use before calls are deleted for their size, when it is allowed this many bytes. */
export const deletesFrom = (bytes: number): number => databaseShare(bytes) * FULL

/** Sets how large the write-ahead log may become, and returns what is done between batches. */
export function openRetention(
  db: Database,
  limits: RetentionLimits,
  rollUps: RollUps,
  fleet = false,
): Retention {
  const pageSize = db.pragma('page_size', { simple: true }) as number
  const canShrink = db.pragma('auto_vacuum', { simple: true }) === 2
  const walBytes = walShare(limits.bytes)
  db.pragma(`wal_autocheckpoint = ${Math.floor(Math.min(walBytes / 2 / pageSize, 1_000))}`)
  db.pragma(`journal_size_limit = ${Math.floor(walBytes)}`)
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
  const ofCall = [
    'DELETE FROM artifacts WHERE call_id = ?',
    'DELETE FROM call_attempts WHERE call_id = ?',
    'DELETE FROM call_logs WHERE id = ?',
  ].map((sql) => db.prepare(sql))

  const remove = db.transaction((calls: readonly ClosedCall[]) => {
    for (const call of calls) {
      rollUps.count(call, -1)
      for (const statement of ofCall) statement.run(call.id)
    }
    rollUps.settle()
  })
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
  let checkpointAt = 0

  return {
    expire(before) {
      expired = idAt(before)
      looked = 0
    },
    step() {
      if (rollUps.calls > limits.rows - MOST_OPEN) {
        const excess = rollUps.calls + openCalls.get()! - limits.rows
        if (excess > 0 && removeOldest(EVERY_ID, Math.min(excess, CALLS_A_STEP))) {
          looked = 0
          return true
        }
      }
      if (performance.now() - looked < LOOK_MS) return false
      const due = removeTooMuch()
      if (!due) looked = performance.now()
      return due
    },
  }

  /** SQLite begins the log anew only in a moment without readers, and there may be none. */
  function shortenLog(): void {
    if (performance.now() < checkpointAt) return
    if ((statSync(`${db.name}-wal`, { throwIfNoEntry: false })?.size ?? 0) <= walBytes) return
    db.pragma(`busy_timeout = ${READERS_MS}`)
    try {
      const [{ busy }] = db.pragma('wal_checkpoint(TRUNCATE)') as [{ busy: number }]
      if (busy !== 0) checkpointAt = performance.now() + AGAIN_MS
    } finally {
      db.pragma(`busy_timeout = ${BUSY_MS}`)
    }
  }

  function removeTooMuch(): boolean {
    shortenLog()
    if (removeOldest(expired, CALLS_A_STEP)) return true
    const [all, free] = [pages.get()!, freePages.get()!]
    if (all - free > mostUsed && removeOldest(EVERY_ID, CALLS_A_STEP)) return true
    // Free pages are used again; only a file that is far too large is cut.
    if (!canShrink || free === 0 || (all <= mostPages && free <= all / 4)) return false
    db.exec(`PRAGMA incremental_vacuum(${PAGES_A_STEP})`)
    return true
  }
}

/** What the log of a fleet has not taken yet is nowhere else. */
const UNSHIPPED_STAY = `AND id < coalesce((SELECT min(call_id) FROM outbox), 'g')`

/** Sorts behind every id. */
const EVERY_ID = 'g'

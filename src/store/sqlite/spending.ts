// Spending of each key per day, week and month (UTC) and per session. These sums are separate from
// `call_logs`: retention may delete a row within the month, but the money is still spent. Also reservations
// for open calls, so that they count if the gateway is killed.

import type { Database } from 'better-sqlite3'
import { periodsOf } from '../../core/period.ts'
import type { Spending, Spent } from '../store.ts'

const NOTHING: Spent = { usd: 0, estimatedUsd: 0, unknownAttempts: 0 }

/** Spending of one key in one period. */
export const SPENT =
  'SELECT usd, estimated_usd AS estimatedUsd, unknown_attempts AS unknownAttempts FROM key_spending WHERE key_name = ? AND period = ?'

/** Reads for the main thread, each of one row by its key. */
export function openSpending(db: Database): Spending {
  const find = db.prepare<[string, string], Spent>(SPENT)
  return { spent: ({ keyName, period }) => find.get(keyName, period) ?? NOTHING }
}

interface SpendingWrites {
  /**
   * Adds the cost of an attempt to the periods in which its call arrived, and to its session. Calls without a
   * key have no sum, and replayed calls cost nothing.
   */
  spend(callId: string, usd: number): void
  /** Adds an estimated cost in the same way. */
  charge(callId: string, usd: number): void
  /** Counts an attempt whose cost is unknown or partly unknown. */
  noteUnknown(callId: string): void
  reserve(callId: string, usd: number): void
  release(callId: string): void
}

/** For the writer. */
export function prepareSpending(db: Database): SpendingWrites {
  const find = db.prepare<[string], { key_name: string; created_at: number; session_id: string | null }>(
    'SELECT key_name, created_at, session_id FROM call_logs WHERE id = ? AND key_name IS NOT NULL AND NOT replayed',
  )
  const addTo = db.prepare<[string, string, number, number, number]>(`
    INSERT INTO key_spending (key_name, period, usd, estimated_usd, unknown_attempts) VALUES (?, ?, ?, ?, ?)
    ON CONFLICT DO UPDATE SET usd = usd + excluded.usd, estimated_usd = estimated_usd + excluded.estimated_usd,
      unknown_attempts = unknown_attempts + excluded.unknown_attempts`)
  const reserve = db.prepare<[string, number]>('INSERT INTO key_reservations (call_id, usd) VALUES (?, ?)')
  const release = db.prepare<[string]>('DELETE FROM key_reservations WHERE call_id = ?')
  const add = (callId: string, usd: number, estimated: number, unknown: number) => {
    const call = find.get(callId)
    if (!call) return
    for (const period of periodsOf(call.created_at, call.session_id))
      addTo.run(call.key_name, period, usd, estimated, unknown)
  }
  return {
    spend(callId, usd) {
      if (usd > 0) add(callId, usd, 0, 0)
    },
    charge(callId, usd) {
      if (usd > 0) add(callId, usd, usd, 0)
    },
    noteUnknown: (callId) => add(callId, 0, 0, 1),
    reserve: (callId, usd) => void reserve.run(callId, usd),
    release: (callId) => void release.run(callId),
  }
}

/**
 * Condition for open calls that end with the gateway. Batches that a provider has accepted and background responses
 * continue at their provider. An upload also has an object, from its first answer on.
 */
export const ENDS_WITH_US = `(objects IS NULL OR endpoint NOT LIKE '%/batches')
  AND id NOT IN (SELECT call_id FROM background_calls)`

/** The same condition for reservations. */
const OF_SUCH = `call_id NOT IN (SELECT id FROM call_logs WHERE completed_at IS NULL AND NOT (${ENDS_WITH_US}))`

/**
 * Charges the reservations of calls left open at the last end. Without a reservation, the cost of such a call
 * is unknown. A call that the cache answers costs nothing.
 */
export function chargeReservations(db: Database): void {
  const { charge, noteUnknown } = prepareSpending(db)
  const unreserved = db.prepare<[], { id: string }>(
    `SELECT id FROM call_logs WHERE completed_at IS NULL AND cache <> 'HIT' AND ${ENDS_WITH_US}
       AND id NOT IN (SELECT call_id FROM key_reservations)`,
  )
  const reserved = db.prepare<[], { id: string; usd: number }>(
    `SELECT call_id AS id, usd FROM key_reservations WHERE ${OF_SUCH}
       AND call_id NOT IN (SELECT id FROM call_logs WHERE completed_at IS NULL AND cache = 'HIT')`,
  )
  for (const { id } of unreserved.all()) noteUnknown(id)
  for (const { id, usd } of reserved.all()) charge(id, usd)
  db.exec(`DELETE FROM key_reservations WHERE ${OF_SUCH}`)
}

// Spending of each key per calendar month, UTC. A separate sum, not one over `call_logs`: retention may drop
// a row in the month in which it was written, but the money is still spent. Also reservations for open calls,
// so that they count if the gateway is killed.

import type { Database } from 'better-sqlite3'
import type { Spending, Spent } from '../store.ts'

const MONTH = `strftime('%Y-%m', created_at / 1000, 'unixepoch')`
const ADD = `ON CONFLICT DO UPDATE SET usd = usd + excluded.usd, estimated_usd = estimated_usd + excluded.estimated_usd,
  unknown_attempts = unknown_attempts + excluded.unknown_attempts`
const NOTHING: Spent = { usd: 0, estimatedUsd: 0, unknownAttempts: 0 }

export const monthOf = (at: number): string => new Date(at).toISOString().slice(0, 7)

/** Spending of one key in one month. */
export const SPENT =
  'SELECT usd, estimated_usd AS estimatedUsd, unknown_attempts AS unknownAttempts FROM key_spending WHERE key_name = ? AND month = ?'

/** For the main thread: reads one row by its key, cheap enough for each call. */
export function openSpending(db: Database): Spending {
  const find = db.prepare<[string, string], Spent>(SPENT)
  return { spent: (keyName, at) => find.get(keyName, monthOf(at)) ?? NOTHING }
}

export interface SpendingWrites {
  /**
   * Adds the cost of an attempt to the month in which its call arrived. Calls without a key have no sum, and
   * replayed ones cost nothing.
   */
  spend(callId: string, usd: number): void
  /** Does the same for an estimated cost. */
  charge(callId: string, usd: number): void
  /** Counts an attempt whose cost is unknown, or partly unknown. */
  noteUnknown(callId: string): void
  reserve(callId: string, usd: number): void
  release(callId: string): void
}

/** For the writer. */
export function prepareSpending(db: Database): SpendingWrites {
  const add = db.prepare<[number, number, number, string]>(`
    INSERT INTO key_spending (key_name, month, usd, estimated_usd, unknown_attempts)
    SELECT key_name, ${MONTH}, ?, ?, ? FROM call_logs
    WHERE id = ? AND key_name IS NOT NULL AND NOT replayed ${ADD}`)
  const reserve = db.prepare<[string, number]>('INSERT INTO key_reservations (call_id, usd) VALUES (?, ?)')
  const release = db.prepare<[string]>('DELETE FROM key_reservations WHERE call_id = ?')
  return {
    spend(callId, usd) {
      if (usd > 0) add.run(usd, 0, 0, callId)
    },
    charge(callId, usd) {
      if (usd > 0) add.run(usd, usd, 0, callId)
    },
    noteUnknown: (callId) => void add.run(0, 0, 1, callId),
    reserve: (callId, usd) => void reserve.run(callId, usd),
    release: (callId) => void release.run(callId),
  }
}

/** Charges the reservations of calls left open at the last end; without one, their cost is unknown. */
export function chargeReservations(db: Database): void {
  db.exec(`
    INSERT INTO key_spending (key_name, month, usd, estimated_usd, unknown_attempts)
    SELECT key_name, ${MONTH} AS month, 0, 0, count(*) FROM call_logs
    WHERE completed_at IS NULL AND key_name IS NOT NULL AND NOT replayed
      AND id NOT IN (SELECT call_id FROM key_reservations) GROUP BY key_name, month ${ADD};
    INSERT INTO key_spending (key_name, month, usd, estimated_usd, unknown_attempts)
    SELECT key_name, ${MONTH} AS month, sum(usd), sum(usd), 0 FROM key_reservations JOIN call_logs ON id = call_id
    WHERE key_name IS NOT NULL AND NOT replayed GROUP BY key_name, month ${ADD};
    DELETE FROM key_reservations`)
}

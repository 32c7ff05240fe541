// What each key has spent in each calendar month, UTC. A sum of its own and not one over `call_logs`: retention may
// drop a row in the month in which it was written, and the money is spent all the same.

import type { Database } from 'better-sqlite3'
import type { Spending } from '../store.ts'

const MONTH = `strftime('%Y-%m', created_at / 1000, 'unixepoch')`

/** For the main thread: one row by its key, so that a call may ask. */
export function openSpending(db: Database): Spending {
  const find = db
    .prepare<[string, string], number>('SELECT usd FROM key_spending WHERE key_name = ? AND month = ?')
    .pluck()
  return { spent: (keyName, at) => find.get(keyName, new Date(at).toISOString().slice(0, 7)) ?? 0 }
}

/** For the writer: adds the cost of an attempt to the month in which its call arrived. Calls without a key have no sum,
 * and replayed ones cost nothing. */
export function prepareSpending(db: Database): (callId: string, usd: number) => void {
  const add = db.prepare<[number, string]>(`
    INSERT INTO key_spending SELECT key_name, ${MONTH}, ? FROM call_logs
    WHERE id = ? AND key_name IS NOT NULL AND NOT replayed
    ON CONFLICT DO UPDATE SET usd = usd + excluded.usd`)
  return (callId, usd) => {
    if (usd > 0) add.run(usd, callId)
  }
}

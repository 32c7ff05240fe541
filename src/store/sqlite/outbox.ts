// Calls that the shared log has not received yet. Each has an entry in `outbox`, written in the transaction
// that changed it. Triggers write the entries, and exist only on the connection of a gateway in a fleet. No
// other code therefore handles the outbox, and without a fleet the outbox stays empty. Independent of the
// network.
import Sqlite, { type Database } from 'better-sqlite3'
import { accountName, periodsOf } from '../../core/period.ts'
import { ATTEMPT_FIELDS, type AttemptRecord } from '../../core/record.ts'
import type { Unshipped } from '../shared-log.ts'
import { type Row, readerOf } from '../sql/columns.ts'

/**
 * Makes this connection add an entry for each changed call. An attempt changes only together with its call.
 */
export function fillOutbox(db: Database): void {
  for (const change of ['INSERT', 'UPDATE'])
    db.exec(`CREATE TEMP TRIGGER outbox_${change} AFTER ${change} ON call_logs
      BEGIN INSERT INTO outbox (call_id) VALUES (new.id); END`)
}

/** The outbox in the journal of a gateway in a fleet, opened for reading. */
interface OutboxReader {
  /** The id of the journal. */
  readonly id: string
  /** Returns the oldest entries after `after`, at most `most`; null if there are none. */
  read(after: number, most: number): Unshipped | null
  /**
   * Returns the number of waiting calls, and the time since which the first one has waited, ms since the epoch; null
   * if none waits.
   */
  backlog(after: number): { readonly calls: number; readonly since: number | null }
  /** Returns the number of the newest entry; null if there is none. */
  newest(): number | null
  /** Returns the number of bytes used in the file. */
  usedBytes(): number
  close(): void
}

const toAttempt = readerOf<AttemptRecord>(ATTEMPT_FIELDS)

export function openOutbox(file: string): OutboxReader {
  const db = new Sqlite(file, { readonly: true, fileMustExist: true, timeout: 1_000 })
  const stretch = db
    .prepare<[number, number], number | null>(
      'SELECT max(seq) FROM (SELECT seq FROM outbox WHERE seq > ? ORDER BY seq LIMIT ?)',
    )
    .pluck()
  const newest = db.prepare<[], number | null>('SELECT max(seq) FROM outbox').pluck()
  const ids = 'SELECT call_id FROM outbox WHERE seq > ? AND seq <= ?'
  const calls = db.prepare<[number, number], Row & { readonly id: string }>(
    `SELECT call_logs.*, snapshot AS price FROM call_logs LEFT JOIN prices ON prices.id = price_id
       WHERE call_logs.id IN (${ids})`,
  )
  const attempts = db.prepare<[number, number], Row>(
    `SELECT * FROM call_attempts WHERE call_id IN (${ids}) ORDER BY call_id, n`,
  )
  const spending = db.prepare<[string, string], Unshipped['spending'][number]>(
    'SELECT * FROM key_spending WHERE key_name = ? AND period = ?',
  )
  /** Returns the spending sums that these calls may have changed. */
  const spendingOf = (changed: readonly Row[]) => {
    const accounts = new Map(
      changed.flatMap(({ key_name, created_at, session_id }) =>
        key_name === null
          ? []
          : periodsOf(created_at as number, session_id as string | null).map((period) => {
              const account = { keyName: key_name as string, period }
              return [accountName(account), account] as const
            }),
      ),
    )
    return [...accounts.values()].flatMap(({ keyName, period }) => spending.get(keyName, period) ?? [])
  }
  const waiting = db.prepare<[number], { calls: number; first: string | null }>(
    `SELECT count(DISTINCT call_id) AS calls, min(call_id) AS first FROM outbox WHERE seq > ?`,
  )
  const created = db.prepare<[string], number>('SELECT created_at FROM call_logs WHERE id = ?').pluck()

  return {
    id: db.prepare<[], string>('SELECT id FROM journal').pluck().get()!,
    read: db.transaction((after: number, most: number) => {
      const until = stretch.get(after, most) ?? null
      if (until === null) return null
      const attemptsOf = Map.groupBy(attempts.all(after, until), ({ call_id }) => call_id)
      const changed = calls.all(after, until)
      return {
        until,
        revision: newest.get()!,
        calls: changed.map((call) => ({
          ...call,
          attempt_log: (attemptsOf.get(call.id) ?? []).map(toAttempt),
        })),
        spending: spendingOf(changed),
      }
    }) as OutboxReader['read'],
    backlog(after) {
      const { calls, first } = waiting.get(after)!
      return { calls, since: first === null ? null : (created.get(first) ?? null) }
    },
    newest: () => newest.get() ?? null,
    usedBytes() {
      const [pages, free, size] = ['page_count', 'freelist_count', 'page_size'].map(
        (name) => db.pragma(name, { simple: true }) as number,
      )
      return (pages! - free!) * size!
    },
    close: () => void db.close(),
  }
}

// Sums of closed calls, stored per hour and per session, so that no read scans a month of rows. The sums
// change in the transaction that closes or deletes a call, so they always equal the rows. Open calls are not
// included: there are few, and each read adds them.
import type { Database } from 'better-sqlite3'
import { timeOfId } from '../../core/call.ts'
import { stepOf } from '../span-answers.ts'
import { add, emptySum, SUM_COLUMNS, SUMMAND, type Sum, type Summand } from '../sql/usage-sum.ts'

export const HOUR = 3_600_000

/** Labels shared by all calls in a series. Few combinations exist, regardless of the number of calls. */
export const LABELS = [
  'key_name',
  'requested_model',
  'resolved_provider',
  'resolved_model',
  'route',
  'strategy',
  'tier',
  'price_id',
  'cache',
  'endpoint',
] as const

/** The counted columns of a closed row of `call_logs`. */
export type ClosedCall = Summand & {
  readonly id: string
  readonly session_id: string | null
  readonly latency_ms: number | null
} & { readonly [Label in (typeof LABELS)[number]]: string | number | null }

/** The columns of a ClosedCall, for a SELECT or RETURNING. */
export const CLOSED_CALL = `id, session_id, latency_ms, ${LABELS.join(', ')}, ${SUMMAND}`

export interface RollUps {
  /** The number of closed calls. */
  readonly calls: number
  /** Adds 1 for a closed call, or -1 for a deleted one. `settle` writes the counts. */
  count(call: ClosedCall, sign?: 1 | -1): void
  /** Writes the counts. Call in the transaction that changed the rows, after those changes. */
  settle(): void
  /** Discards the counts. Call after a rollback of that transaction. */
  forget(): void
}

export function openRollUps(db: Database): RollUps {
  const statements = prepareStatements(db)
  const { addHour, addSession, addLatency, firstOf, countCalls } = statements
  const { dropLatencies, dropHour, dropSession, dropSpending, dropSeries, dropPrices } = statements
  let calls: number | null = countCalls.get()! // null after a rollback, until it is read again

  const series = createSeriesIds(statements)
  /** Sessions that are known to have a row. */
  const begun = new Set<string>()
  let hours = new Map<string, Cell<[hour: number, series: number]>>()
  let sessions = new Map<string, Cell<[sessionId: string, keyName: string]>>()
  let latencies = new Map<string, { readonly key: [number, string, string, number]; calls: number }>()
  let dropping = false

  const clear = () => {
    hours = new Map()
    sessions = new Map()
    latencies = new Map()
    dropping = false
  }

  return {
    get calls() {
      calls ??= countCalls.get()!
      return calls
    },
    count(call, sign = 1) {
      if (calls !== null) calls += sign
      if (sign < 0) dropping = true
      const hour = Math.floor(timeOfId(call.id) / HOUR)
      const id = series.idOf(call)
      add(cell(hours, `${hour} ${id}`, [hour, id]), call, sign)
      const key = String(call.key_name ?? '')
      const step = stepOf(call)
      if (step !== null) {
        const provider = String(call.resolved_provider)
        const name = `${hour} ${step} ${key} ${provider}`
        const found = latencies.get(name)
        if (found) found.calls += sign
        else latencies.set(name, { key: [hour, provider, key, step], calls: sign })
      }
      if (call.session_id === null) return
      add(cell(sessions, `${key} ${call.session_id}`, [call.session_id, key]), call, sign)
    },
    settle() {
      for (const { key, sum } of hours.values()) addHour.run(...key, ...sum)
      for (const [name, { key, sum }] of sessions) {
        addSession.run(...key, begun.has(name) ? '' : firstOf.get(...key, ...key), ...sum)
        if (begun.size > 10_000) begun.clear()
        begun.add(name)
      }
      for (const { key, calls } of latencies.values()) addLatency.run(...key, calls)
      if (dropping) {
        for (const [
          name,
          {
            key: [id, key],
          },
        ] of sessions) {
          if (dropSession.run({ id, key }).changes > 0) begun.delete(name)
          dropSpending.run({ id, key })
        }
        for (const { key } of hours.values()) {
          if (dropHour.run(...key).changes === 0) continue
          dropLatencies.run(key[0])
          if (dropSeries.run({ id: key[1] }).changes === 0) continue
          dropPrices.run()
          series.forget()
        }
      }
      clear()
    },
    forget() {
      clear()
      series.forget()
      begun.clear()
      calls = null // not counted here, because that may fail too
    },
  }
}

/** Finds or adds the series of calls, and remembers their ids. */
function createSeriesIds({
  findSeries,
  addSeries,
}: Pick<ReturnType<typeof prepareStatements>, 'findSeries' | 'addSeries'>) {
  const ids = new Map<string, number>()
  return {
    idOf(call: ClosedCall): number {
      const labels = LABELS.map((label) => call[label])
      const name = JSON.stringify(labels)
      let id = ids.get(name)
      if (id === undefined) {
        id = findSeries.get(...labels) ?? addSeries.get(...labels)!
        if (ids.size > 10_000) ids.clear() // clients choose direct ids, so there may be many
        ids.set(name, id)
      }
      return id
    },
    /** Forgets the ids. Call when a series may have been deleted. */
    forget(): void {
      ids.clear()
    },
  }
}

function prepareStatements(db: Database) {
  const findSeries = db
    .prepare<unknown[], number>(
      `SELECT id FROM series WHERE ${LABELS.map((label) => `${label} IS ?`).join(' AND ')}`,
    )
    .pluck()
  const addSeries = db
    .prepare<unknown[], number>(
      `INSERT INTO series (${LABELS.join(', ')}) VALUES (${LABELS.map(() => '?').join(', ')}) RETURNING id`,
    )
    .pluck()
  const addHour = db.prepare(`INSERT INTO usage_hours ${adding(['hour', 'series_id'], SUM_COLUMNS)}`)
  const addSession = db.prepare(
    `INSERT INTO sessions ${adding(['session_id', 'key_name', 'first_id'], SUM_COLUMNS)}`,
  )
  const addLatency = db.prepare(
    `INSERT INTO latency_hours VALUES (?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET calls = calls + excluded.calls`,
  )
  // A session remains the same when its first calls are deleted.
  const firstOf = db
    .prepare<[string, string, string, string], string>(
      `SELECT coalesce((SELECT first_id FROM sessions WHERE session_id = ? AND key_name = ?),
         (SELECT min(id) FROM call_logs WHERE session_id = ? AND key_name IS nullif(?, '')))`,
    )
    .pluck()
  const dropLatencies = db.prepare('DELETE FROM latency_hours WHERE hour = ? AND calls <= 0')
  const dropHour = db.prepare('DELETE FROM usage_hours WHERE hour = ? AND series_id = ? AND calls <= 0')
  const dropSession = db.prepare(
    `DELETE FROM sessions WHERE session_id = @id AND key_name = @key AND calls <= 0
       AND NOT EXISTS (SELECT 1 FROM call_logs WHERE session_id = @id AND key_name IS nullif(@key, ''))`,
  )
  // A session's spending counts as long as any of its calls is on record.
  const dropSpending = db.prepare(
    `DELETE FROM key_spending WHERE key_name = @key AND period = 'session ' || @id
       AND NOT EXISTS (SELECT 1 FROM call_logs WHERE session_id = @id AND key_name IS nullif(@key, ''))`,
  )
  const dropSeries = db.prepare(
    'DELETE FROM series WHERE id = @id AND NOT EXISTS (SELECT 1 FROM usage_hours WHERE series_id = @id)',
  )
  const dropPrices = db.prepare(
    'DELETE FROM prices WHERE id NOT IN (SELECT price_id FROM series WHERE price_id IS NOT NULL)',
  )

  const countCalls = db.prepare<[], number>('SELECT coalesce(sum(calls), 0) FROM usage_hours').pluck()

  return {
    findSeries,
    addSeries,
    addHour,
    addSession,
    addLatency,
    firstOf,
    dropLatencies,
    dropHour,
    dropSession,
    dropSpending,
    dropSeries,
    dropPrices,
    countCalls,
  }
}

interface Cell<Key> {
  readonly key: Key
  readonly sum: Sum
}

function cell<Key>(cells: Map<string, Cell<Key>>, name: string, key: Key): Sum {
  let found = cells.get(name)
  if (!found) {
    found = { key, sum: emptySum() }
    cells.set(name, found)
  }
  return found.sum
}

/** Returns the rest of an INSERT that adds to an existing row. */
function adding(key: readonly string[], columns: readonly string[]): string {
  const names = [...key, ...columns]
  return `(${names.join(', ')}) VALUES (${names.map(() => '?').join(', ')})
    ON CONFLICT DO UPDATE SET ${columns.map((name) => `${name} = ${name} + excluded.${name}`).join(', ')}`
}

/** Recomputes all sums from the rows, inside a transaction. */
export function rebuildRollUps(db: Database): void {
  db.exec('DELETE FROM usage_hours; DELETE FROM latency_hours; DELETE FROM sessions; DELETE FROM series')
  const rollUps = openRollUps(db)
  const next = db.prepare<[string], ClosedCall>(
    `SELECT ${CLOSED_CALL} FROM call_logs WHERE id > ? AND completed_at IS NOT NULL ORDER BY id LIMIT 10000`,
  )
  for (let rows = next.all(''); rows.length > 0; rows = next.all(rows.at(-1)!.id)) {
    for (const row of rows) rollUps.count(row)
    rollUps.settle()
  }
}

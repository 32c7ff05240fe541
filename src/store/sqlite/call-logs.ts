// Reads `call_logs` and `call_attempts` into records, and finds the hours that may contain rows for a filter: with a
// filter that matches few or no rows, a list would have to scan all rows, and the roll-ups show which hours it can
// skip. Also reads past calls with the facts that their cost on another route depends on. Cannot write.
import type { Database } from 'better-sqlite3'
import { idAt, timeOfId } from '../../core/call.ts'
import {
  ATTEMPT_FIELDS,
  type AttemptRecord,
  CALL_FIELDS,
  type CallRecord,
  type Field,
  type PastCall,
} from '../../core/record.ts'
import type { CallFilter, CallLogReads, Maker, ObjectMaker, PastReads } from '../reads.ts'
import { conditions, isAside, type Row, readerOf } from '../sql/columns.ts'
import { HOUR, LABELS } from './roll-ups.ts'

const SELECT = 'SELECT call_logs.*, snapshot AS price FROM call_logs LEFT JOIN prices ON prices.id = price_id'

const toRecord = readerOf<CallRecord>(CALL_FIELDS)
const toAttempt = readerOf<AttemptRecord>(ATTEMPT_FIELDS)

export function openCallLogs(db: Database): CallLogReads {
  const attemptsOf = db.prepare<[string], Row>('SELECT * FROM call_attempts WHERE call_id = ? ORDER BY n')
  const byId = db.prepare<[string], Row>(`${SELECT} WHERE call_logs.id = ?`)

  const maker = db.prepare<[string, string | null], Maker>(
    `SELECT resolved_provider AS provider, resolved_model AS model FROM call_logs
       WHERE response_id = ? AND key_name IS ? ORDER BY id DESC LIMIT 1`,
  )
  const makersOf = db.prepare<[string], ObjectMaker>(
    `SELECT id, call_id, key_name, provider, model FROM object_owners WHERE id IN (SELECT value FROM json_each(?))`,
  )

  const bytesOf = db.prepare<[string], number>('SELECT bytes FROM artifacts WHERE call_id = ?').pluck()
  const hoursOf = openHourIndex(db)

  const reads: CallLogReads = {
    list(filter, { limit, cursor = AFTER_ALL }) {
      const { where, values } = conditions(filter)
      const page = db.prepare<unknown[], Row>(
        `${SELECT} WHERE ${[...where, 'call_logs.id >= ?', 'call_logs.id < ?'].join(' AND ')}
           ORDER BY call_logs.id DESC LIMIT ?`,
      )
      // The id begins with the time, so a bound on the time bounds the key and ends the scan.
      const { since = 0, until } = filter
      const from = idAt(since)
      const to = until !== undefined && idAt(until) < cursor ? idAt(until) : cursor
      const rows: Row[] = []
      for (const hour of hoursOf(filter, from, to) ?? [ALL_HOURS]) {
        const [begin, end] = [idAt(hour.from), idAt(hour.to)]
        rows.push(
          ...page.all(...values, begin > from ? begin : from, end < to ? end : to, limit + 1 - rows.length),
        )
        if (rows.length > limit) break
      }
      const data = rows.slice(0, limit).map(toRecord)
      const has_more = rows.length > limit
      return { data, has_more, next_cursor: has_more ? data.at(-1)!.id : null }
    },
    listText(filter, page, fields) {
      const { data, ...rest } = reads.list(filter, page)
      const shown = fields
        ? data.map((record) => Object.fromEntries(fields.map((field) => [field, record[field]])))
        : data
      return JSON.stringify({ object: 'list', data: shown, ...rest })
    },
    find(id, keyName) {
      const row = byId.get(id)
      if (!row || (keyName !== undefined && row.key_name !== keyName)) return null
      const bytes = bytesOf.get(id)
      const artifact = { available: bytes !== undefined, bytes: bytes ?? 0 }
      return { ...toRecord(row), attempt_log: attemptsOf.all(id).map(toAttempt), artifact }
    },
    makerOf: (responseId, keyName) => maker.get(responseId, keyName) ?? null,
    objectMakers: (names) => (names.length === 0 ? [] : makersOf.all(JSON.stringify(names))),
  }
  return reads
}

/** A span of time, milliseconds since the epoch. */
interface Hour {
  readonly from: number
  readonly to: number
}

const ALL_HOURS: Hour = { from: 0, to: 2 ** 48 - 1 }

/** Upper bound that sorts after every id. */
export const AFTER_ALL = 'g'

/** Filter parameters that the roll-ups can distinguish, with their labels. */
const SERIES: Readonly<Record<string, string>> = Object.fromEntries(
  Object.entries<Field>(CALL_FIELDS).flatMap(([column, { filter }]) =>
    filter && (LABELS as readonly string[]).includes(column) ? [[filter, column]] : [],
  ),
)

/**
 * Returns the hours between two ids, newest first, each found on demand. Returns null if the roll-ups cannot
 * tell, or if the rows have an index for the filter.
 */
function openHourIndex(db: Database) {
  const open = db
    .prepare<[string, string], number>(
      `SELECT DISTINCT created_at / ${HOUR} FROM call_logs INDEXED BY call_logs_open
         WHERE completed_at IS NULL AND id >= ? AND id < ? ORDER BY 1 DESC`,
    )
    .pluck()

  return function hoursOf(filter: CallFilter, from: string, to: string): Iterable<Hour> | null {
    const { session_id, agent_id, client, error_code, state, status, fallbacks } = filter
    if (isAside(filter) || session_id !== undefined || error_code !== undefined || client !== undefined)
      return null
    if (agent_id !== undefined && agent_id !== 'none') return null
    const openHours = open.all(from, to)
    if (state === 'routed' || state === 'streaming') return openHours.map(hourOf)

    const labels = Object.entries(SERIES).filter(([field]) => filter[field as keyof CallFilter] !== undefined)
    const failed = status === 'error' || (state !== undefined && state !== 'completed')
    if (labels.length === 0 && !failed && fallbacks === undefined) return null
    const like = labels.map(([, column]) => `AND ${column} = ?`).join(' ')
    const closed = db
      .prepare<unknown[], number>(
        `SELECT DISTINCT hour FROM usage_hours WHERE hour >= ? AND hour <= ? ${failed ? 'AND failed > 0' : ''}
           ${fallbacks === undefined ? '' : 'AND fell_back > 0'}
           AND series_id IN (SELECT id FROM series WHERE true ${like}) ORDER BY hour DESC`,
      )
      .pluck()
    const values = labels.map(([field]) => filter[field as keyof CallFilter])
    const last = to === AFTER_ALL ? ALL_HOURS.to : timeOfId(to)
    return newestFirst(
      openHours,
      closed.iterate(Math.floor(timeOfId(from) / HOUR), Math.floor(last / HOUR), ...values),
    )
  }
}

/** Merges both lists, each hour once. */
function* newestFirst(open: number[], closed: Iterable<number>): Generator<Hour> {
  for (const hour of closed) {
    while (open.length > 0 && open[0]! >= hour) {
      const next = open.shift()!
      if (next > hour) yield hourOf(next)
    }
    yield hourOf(hour)
  }
  for (const hour of open) yield hourOf(hour)
}

const hourOf = (hour: number): Hour => ({ from: hour * HOUR, to: (hour + 1) * HOUR })

/** A database opened by either library: the gateway's, or that of a command that reads from outside. */
interface Asked {
  prepare(sql: string): { all(...values: (string | number | null)[]): unknown[] }
}

const ROWS = `
  SELECT id, endpoint, state, route, session_id, agent_id, purpose, key_name, client, cache, latency_ms, ttft_ms,
    cost_usd, flat_usd, cache_lost, replayed, resolved_provider || '/' || resolved_model AS target, tokens_input,
    tokens_output, tokens_cached_input, tokens_cache_write, cost_missing, usage,
    CASE WHEN fallbacks > 0 THEN (SELECT group_concat(provider || '/' || model, char(10)) FROM call_attempts
      WHERE call_id = call_logs.id AND outcome NOT IN ('answered', 'aborted')) END AS failed
  FROM call_logs WHERE id > ? AND id < ? AND (? IS NULL OR key_name = ?) ORDER BY id LIMIT ?`

export const openPastReads = (db: Asked): PastReads => {
  const rows = db.prepare(ROWS)
  return {
    past({ since, until }, after, limit, keyName) {
      const from = idAt(since)
      return rows.all(
        after > from ? after : from,
        idAt(until),
        keyName ?? null,
        keyName ?? null,
        limit,
      ) as PastCall[]
    },
  }
}

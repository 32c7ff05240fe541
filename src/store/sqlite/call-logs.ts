// Reads `call_logs` and `call_attempts` into records. Cannot write.
import type { Database } from 'better-sqlite3'
import { idAt } from '../../core/call.ts'
import {
  ATTEMPT_FIELDS,
  type AttemptRecord,
  CALL_FIELDS,
  type CallRecord,
  type PastCall,
} from '../../core/record.ts'
import type { CallLogReads, Maker, ObjectMaker, PastReads } from '../reads.ts'
import { type Row, readerOf } from '../sql/columns.ts'
import { conditions } from '../sql/conditions.ts'
import { AFTER_ALL, ALL_HOURS, openHourIndex } from './hour-index.ts'

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

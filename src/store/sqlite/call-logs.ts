// Reads `call_logs` and `call_attempts` into the shapes of the contract. Cannot write.

import type { Database } from 'better-sqlite3'
import { idAt } from '../../call.ts'
import type { CallFilter } from '../filters.ts'
import type { CallLogReads, CallRecord } from '../reads.ts'
import { AFTER_ALL, ALL_HOURS, openHourIndex } from './hour-index.ts'

type Row = Record<string, string | number | null>

const COLUMN = {
  session_id: 'session_id',
  requested_model: 'requested_model',
  provider: 'resolved_provider',
  model: 'resolved_model',
  route: 'route',
  strategy: 'strategy',
  tier: 'tier',
  state: 'state',
  key_name: 'key_name',
} as const satisfies Partial<Record<keyof CallFilter, string>>

const SELECT = 'SELECT call_logs.*, snapshot AS price FROM call_logs LEFT JOIN prices ON prices.id = price_id'

export function openCallLogs(db: Database): CallLogReads {
  const attemptsOf = db.prepare<[string], Row>('SELECT * FROM call_attempts WHERE call_id = ? ORDER BY n')
  const byId = db.prepare<[string], Row>(`${SELECT} WHERE call_logs.id = ?`)

  const bytesOf = db.prepare<[string], number>('SELECT bytes FROM artifacts WHERE call_id = ?').pluck()
  const hoursOf = openHourIndex(db)

  return {
    list(filter, { limit, cursor = AFTER_ALL }) {
      const { where, values } = conditions(filter)
      const page = db.prepare<unknown[], Row>(
        `${SELECT} WHERE ${[...where, 'call_logs.id >= ?', 'call_logs.id < ?'].join(' AND ')}
           ORDER BY call_logs.id DESC LIMIT ?`,
      )
      // The id begins with the time, so a bound on the time is a bound on the key and ends the scan.
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
    find(id, keyName) {
      const row = byId.get(id)
      if (!row || (keyName !== undefined && row.key_name !== keyName)) return null
      const bytes = bytesOf.get(id)
      const artifact = { available: bytes !== undefined, bytes: bytes ?? 0 }
      return { ...toRecord(row), attempt_log: attemptsOf.all(id).map(toAttempt), artifact }
    },
  }
}

function conditions(filter: CallFilter): { where: string[]; values: unknown[] } {
  const where: string[] = []
  const values: unknown[] = []
  const add = (sql: string, value: unknown) => {
    where.push(sql)
    values.push(value)
  }
  for (const [field, column] of Object.entries(COLUMN)) {
    const value = filter[field as keyof typeof COLUMN]
    if (value !== undefined) add(`${column} = ?`, value)
  }
  if (filter.agent_id === 'none') where.push('agent_id IS NULL')
  else if (filter.agent_id !== undefined) add('agent_id = ?', filter.agent_id)
  if (filter.status === 'ok') where.push(`state = 'completed'`)
  else if (filter.status === 'error') where.push(`state IN ('failed', 'aborted', 'interrupted')`)
  else if (filter.status !== undefined) add('status = ?', filter.status)
  return { where, values }
}

const time = (ms: string | number | null | undefined): string | null =>
  typeof ms === 'number' ? new Date(ms).toISOString() : null

const json = (text: string | number | null | undefined): unknown =>
  typeof text === 'string' ? JSON.parse(text) : null

const tokensOf = (row: Row) => ({
  input: row.tokens_input,
  output: row.tokens_output,
  cached_input: row.tokens_cached_input,
  cache_write: row.tokens_cache_write,
  reasoning: row.tokens_reasoning,
  source: row.tokens_source,
})

const toRecord = (row: Row): CallRecord => ({
  id: row.id as string,
  created_at: time(row.created_at),
  completed_at: time(row.completed_at),
  state: row.state,
  endpoint: row.endpoint,
  requested_model: row.requested_model,
  resolved_provider: row.resolved_provider,
  resolved_model: row.resolved_model,
  picked_provider: row.picked_provider,
  picked_model: row.picked_model,
  response_model: row.response_model,
  route: row.route,
  strategy: row.strategy,
  tier: row.tier,
  decision: json(row.decision),
  session_id: row.session_id,
  agent_id: row.agent_id,
  key_name: row.key_name,
  stream: row.stream === 1,
  status: row.status,
  error_code: row.error_code,
  attempts: row.attempts,
  fallbacks: row.fallbacks,
  latency_ms: row.latency_ms,
  ttft_ms: row.ttft_ms,
  tokens: tokensOf(row),
  cost_usd: row.cost_usd,
  price: json(row.price),
  cache: row.cache,
  saved_usd: row.saved_usd,
})

const toAttempt = (row: Row) => ({
  n: row.n,
  provider: row.provider,
  model: row.model,
  started_at: time(row.started_at),
  ended_at: time(row.ended_at),
  status: row.status,
  outcome: row.outcome,
  error_code: row.error_code,
  tokens: tokensOf(row),
  cost_usd: row.cost_usd,
})

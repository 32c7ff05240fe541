// What the calls of each session add up to, read from `call_logs`. Cannot write.
import type { Database } from 'better-sqlite3'
import { timeOfId } from '../call.ts'
import type { Listed, Page } from './call-logs.ts'
import { add, calls, costOf, emptySum, failed, SUMMAND, type Sum, type Summand, tokensOf } from './tally.ts'

/** Contract "Session". */
export interface Session {
  readonly session_id: string
  readonly first_seen: string
  readonly last_seen: string
  readonly calls: number
  readonly failed: number
  readonly last_requested_model: string
  readonly last_provider: string
  readonly last_model: string
  readonly tokens: ReturnType<typeof tokensOf>
  readonly cost_usd: number | null
}

export interface SessionModel extends Pick<Session, 'calls' | 'failed' | 'tokens' | 'cost_usd'> {
  readonly provider: string
  readonly model: string
}

export interface SessionReads {
  /** Newest first by their first call, which never changes, so that pages have no gap and no repeat. */
  sessions(page: Page, keyName?: string): Listed<Session>
  /** Null when there is none, or none for this key. */
  session(id: string, keyName?: string): (Session & { readonly by_model: readonly SessionModel[] }) | null
}

type Row = Summand & {
  readonly id: string
  readonly requested_model: string
  readonly resolved_provider: string
  readonly resolved_model: string
}

export function openSessions(db: Database): SessionReads {
  const OWN = '(@key IS NULL OR key_name = @key)'
  const page = db.prepare<object, { session_id: string; first: string }>(
    `SELECT session_id, min(id) AS first FROM call_logs WHERE session_id IS NOT NULL AND ${OWN}
       GROUP BY session_id HAVING @cursor IS NULL OR first < @cursor ORDER BY first DESC LIMIT @limit`,
  )
  const rowsOf = db.prepare<object, Row>(
    `SELECT id, requested_model, resolved_provider, resolved_model, ${SUMMAND}
       FROM call_logs WHERE session_id = @id AND ${OWN} ORDER BY id`,
  )
  const read = (id: string, rows: readonly Row[]): Session => {
    const sum = emptySum()
    for (const row of rows) add(sum, row)
    const last = rows.at(-1)!
    return {
      session_id: id,
      first_seen: seen(rows[0]!.id),
      last_seen: seen(last.id),
      ...countsOf(sum),
      last_requested_model: last.requested_model,
      last_provider: last.resolved_provider,
      last_model: last.resolved_model,
      ...amountsOf(sum),
    }
  }

  return {
    sessions({ limit, cursor }, keyName) {
      const key = keyName ?? null
      const found = page.all({ key, cursor: cursor ?? null, limit: limit + 1 })
      const data = found.slice(0, limit)
      const has_more = found.length > limit
      return {
        data: data.map(({ session_id: id }) => read(id, rowsOf.all({ id, key }))),
        has_more,
        next_cursor: has_more ? data.at(-1)!.first : null,
      }
    },
    session(id, keyName) {
      const rows = rowsOf.all({ id, key: keyName ?? null })
      return rows.length > 0 ? { ...read(id, rows), by_model: byModel(rows) } : null
    },
  }
}

function byModel(rows: readonly Row[]): SessionModel[] {
  const models = Map.groupBy(rows, (row) => `${row.resolved_provider}/${row.resolved_model}`)
  return [...models.values()]
    .map((group) => {
      const sum = emptySum()
      for (const row of group) add(sum, row)
      const { resolved_provider: provider, resolved_model: model } = group[0]!
      return { provider, model, ...countsOf(sum), ...amountsOf(sum) }
    })
    .sort((a, b) => b.calls - a.calls)
}

const seen = (callId: string): string => new Date(timeOfId(callId)).toISOString()
const countsOf = (sum: Sum) => ({ calls: calls(sum), failed: failed(sum) })
const amountsOf = (sum: Sum) => ({ tokens: tokensOf(sum), cost_usd: costOf(sum) })

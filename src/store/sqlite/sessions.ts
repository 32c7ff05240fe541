// What the calls of each session add up to: the roll-up of its closed calls, and its open ones. Where the last call
// went is asked of the rows. Cannot write.

import type { Database } from 'better-sqlite3'
import { timeOfId } from '../../call.ts'
import type { Session, SessionModel, SessionReads } from '../reads.ts'
import {
  add,
  COLUMNS,
  calls,
  costOf,
  emptySum,
  failed,
  merge,
  SUMMAND,
  type Sum,
  type Summand,
  tokensOf,
} from '../usage-sum.ts'
import { AFTER_ALL } from './hour-index.ts'

/** A session and the id of its first call. */
interface Begun {
  readonly session_id: string
  readonly first_id: string
}

interface Last {
  readonly id: string
  readonly requested_model: string
  readonly resolved_provider: string
  readonly resolved_model: string
}

type Row = Summand & { readonly provider: string; readonly model: string }

const OWN = '(@key IS NULL OR key_name = @key)'

export function openSessions(db: Database): SessionReads {
  // A session that several keys share has a row for each, and is one for those who see all: the earliest counts.
  const closed = db.prepare<object, Begun>(
    `SELECT session_id, first_id FROM sessions AS s WHERE first_id < @cursor AND ${OWN}
       AND NOT EXISTS (SELECT 1 FROM sessions AS o WHERE o.session_id = s.session_id AND o.first_id < s.first_id AND ${OWN})
       ORDER BY first_id DESC LIMIT @limit`,
  )
  const open = db.prepare<object, Begun>(
    `SELECT session_id, min(id) AS first_id FROM call_logs INDEXED BY call_logs_open
       WHERE completed_at IS NULL AND session_id IS NOT NULL AND ${OWN} GROUP BY session_id`,
  )
  const firstOf = db
    .prepare<object, string | null>(`SELECT min(first_id) FROM sessions WHERE session_id = @id AND ${OWN}`)
    .pluck()
  const sumOf = db
    .prepare<object, number[]>(`SELECT ${COLUMNS.join(', ')} FROM sessions WHERE session_id = @id AND ${OWN}`)
    .raw()
  const openOf = db.prepare<object, Summand>(
    `SELECT ${SUMMAND} FROM call_logs INDEXED BY call_logs_open
       WHERE completed_at IS NULL AND session_id = @id AND ${OWN}`,
  )
  const lastOf = db.prepare<object, Last>(
    `SELECT id, requested_model, resolved_provider, resolved_model FROM call_logs
       WHERE session_id = @id AND ${OWN} ORDER BY id DESC LIMIT 1`,
  )
  const rowsOf = db.prepare<object, Row>(
    `SELECT resolved_provider AS provider, resolved_model AS model, ${SUMMAND}
       FROM call_logs WHERE session_id = @id AND ${OWN}`,
  )

  const read = ({ session_id: id, first_id }: Begun, key: string | null): Session => {
    const sum = emptySum()
    for (const closed of sumOf.all({ id, key })) merge(sum, closed)
    for (const row of openOf.all({ id, key })) add(sum, row)
    const last = lastOf.get({ id, key })!
    return {
      session_id: id,
      first_seen: seen(first_id),
      last_seen: seen(last.id),
      ...countsOf(sum),
      last_requested_model: last.requested_model,
      last_provider: last.resolved_provider,
      last_model: last.resolved_model,
      ...amountsOf(sum),
    }
  }

  return {
    sessions({ limit, cursor = AFTER_ALL }, keyName) {
      const key = keyName ?? null
      // Sessions whose first call is still open have no roll-up yet.
      const fresh = open
        .all({ key })
        .filter(({ session_id: id, first_id }) => first_id < cursor && firstOf.get({ id, key }) === null)
      const found = [...closed.all({ key, cursor, limit: limit + 1 }), ...fresh].sort(newestFirst)
      const data = found.slice(0, limit)
      const has_more = found.length > limit
      return {
        data: data.map((begun) => read(begun, key)),
        has_more,
        next_cursor: has_more ? data.at(-1)!.first_id : null,
      }
    },

    session(id, keyName) {
      const key = keyName ?? null
      const rows = rowsOf.all({ id, key })
      if (rows.length === 0) return null
      const first_id =
        firstOf.get({ id, key }) ?? open.all({ key }).find((each) => each.session_id === id)!.first_id
      return { ...read({ session_id: id, first_id }, key), by_model: byModel(rows) }
    },
  }
}

function byModel(rows: readonly Row[]): SessionModel[] {
  const models = Map.groupBy(rows, ({ provider, model }) => `${provider}/${model}`)
  return [...models.values()]
    .map((group) => {
      const sum = emptySum()
      for (const row of group) add(sum, row)
      const { provider, model } = group[0]!
      return { provider, model, ...countsOf(sum), ...amountsOf(sum) }
    })
    .sort((a, b) => b.calls - a.calls)
}

const newestFirst = (a: Begun, b: Begun): number => (a.first_id < b.first_id ? 1 : -1)
const seen = (callId: string): string => new Date(timeOfId(callId)).toISOString()
const countsOf = (sum: Sum) => ({ calls: calls(sum), failed: failed(sum) })
const amountsOf = (sum: Sum) => ({ tokens: tokensOf(sum), cost_usd: costOf(sum) })

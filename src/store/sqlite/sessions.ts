// Reads the sums of each session's calls from the roll-up of its closed calls and from its open calls. The
// target of the last call is read from the rows. Cannot write.

import type { Database } from 'better-sqlite3'
import type { Session, SessionReads } from '../reads.ts'
import {
  type AgentOf,
  type Begun,
  byAgent,
  byModel,
  type LastCall,
  type ModelOf,
  newestFirst,
  sessionAnswer,
} from '../span-answers.ts'
import { add, emptySum, merge, SUM_COLUMNS, SUMMAND, type Sum, type Summand } from '../sql/usage-sum.ts'
import { AFTER_ALL } from './call-logs.ts'

type Row = Summand & ModelOf & AgentOf & { readonly id: string }

const OWN = '(@key IS NULL OR key_name = @key)'

export function openSessions(db: Database): SessionReads {
  // A session shared by several keys has a row for each. For callers who see all keys, the earliest row
  // counts.
  const closed = db.prepare<object, Begun>(
    `SELECT session_id, first_id FROM sessions AS s WHERE first_id < @cursor AND ${OWN}
       AND NOT EXISTS (SELECT 1 FROM sessions AS o WHERE o.session_id = s.session_id AND o.first_id < s.first_id AND ${OWN})
       ORDER BY first_id DESC LIMIT @limit`,
  )
  const dearest = db.prepare<object, Begun>(
    `SELECT session_id, min(first_id) AS first_id FROM sessions WHERE cost_usd > 0 AND ${OWN}
       GROUP BY session_id ORDER BY sum(cost_usd) DESC LIMIT @limit`,
  )
  const open = db.prepare<object, Begun>(
    `SELECT session_id, min(id) AS first_id FROM call_logs INDEXED BY call_logs_open
       WHERE completed_at IS NULL AND session_id IS NOT NULL AND ${OWN} GROUP BY session_id`,
  )
  const firstOf = db
    .prepare<object, string | null>(`SELECT min(first_id) FROM sessions WHERE session_id = @id AND ${OWN}`)
    .pluck()
  const sumOf = db
    .prepare<object, number[]>(
      `SELECT ${SUM_COLUMNS.join(', ')} FROM sessions WHERE session_id = @id AND ${OWN}`,
    )
    .raw()
  const openOf = db.prepare<object, Summand>(
    `SELECT ${SUMMAND} FROM call_logs INDEXED BY call_logs_open
       WHERE completed_at IS NULL AND session_id = @id AND ${OWN}`,
  )
  const lastOf = db.prepare<object, LastCall>(
    `SELECT id, requested_model, resolved_provider, resolved_model, client FROM call_logs
       WHERE session_id = @id AND ${OWN} ORDER BY id DESC LIMIT 1`,
  )
  const rowsOf = db.prepare<object, Row>(
    `SELECT id, resolved_provider AS provider, resolved_model AS model, response_model, agent_id, purpose, ${SUMMAND}
       FROM call_logs WHERE session_id = @id AND ${OWN}`,
  )

  const read = ({ session_id: id, first_id }: Begun, key: string | null): Session => {
    const sum = emptySum()
    for (const closed of sumOf.all({ id, key })) merge(sum, closed)
    for (const row of openOf.all({ id, key })) add(sum, row)
    const last = lastOf.get({ id, key })!
    return sessionAnswer(id, first_id, last, sum)
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

    dearest(limit, keyName) {
      const key = keyName ?? null
      return dearest.all({ key, limit }).map((begun) => read(begun, key))
    },

    session(id, keyName) {
      const key = keyName ?? null
      const rows = rowsOf.all({ id, key })
      if (rows.length === 0) return null
      const first_id =
        firstOf.get({ id, key }) ?? open.all({ key }).find((each) => each.session_id === id)!.first_id
      const summed = rows.map((row) => ({ ...row, first_id: row.id, last_id: row.id, sum: sumOfRow(row) }))
      return { ...read({ session_id: id, first_id }, key), by_model: byModel(summed), parts: byAgent(summed) }
    },
  }
}

function sumOfRow(row: Summand): Sum {
  const sum = emptySum()
  add(sum, row)
  return sum
}

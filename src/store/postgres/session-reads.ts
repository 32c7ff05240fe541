// Reads the sessions of all instances, with the sums of their calls. Cannot write.
import type { Reads } from '../reads.ts'
import {
  type AgentOf,
  type Begun,
  byAgent,
  byModel,
  type ModelOf,
  sessionAnswer,
} from '../session-answers.ts'
import { total } from '../sql/usage-sum.ts'
import type { Link } from './link.ts'
import { NAMED_SUMS, sumIn } from './sums.ts'

const AFTER_ALL = 'ffffffff-ffff-ffff-ffff-ffffffffffff'
const OWN = '(?::text IS NULL OR key_name = ?)'

/** Calls of a session that one model answered, and the last of these calls. */
type Part = ModelOf &
  AgentOf &
  Record<string, unknown> & {
    readonly session_id: string
    readonly first_id: string
    readonly last_id: string
    readonly requested_model: string
  }

export function openSessionReads(link: Link): Pick<Reads, 'sessions' | 'dearest' | 'session'> {
  const partsOf = (ids: readonly string[], key: string | null) =>
    link.query<Part>(
      `SELECT session_id, resolved_provider AS provider, resolved_model AS model, agent_id, purpose, ${NAMED_SUMS},
          min(id::text) AS first_id, max(id::text) AS last_id,
          (array_agg(requested_model ORDER BY id DESC))[1] AS requested_model
         FROM waybill.calls WHERE session_id = ANY(?) AND ${OWN} GROUP BY 1, 2, 3, 4, 5`,
      [ids, key, key],
    )
  const read = ({ session_id, first_id }: Begun, parts: readonly Part[]) => {
    const last = parts.reduce((a, b) => (a.last_id > b.last_id ? a : b))
    const call = {
      id: last.last_id,
      requested_model: last.requested_model,
      resolved_provider: last.provider,
      resolved_model: last.model,
    }
    return sessionAnswer(session_id, first_id, call, total(parts.map((part) => ({ sum: sumIn(part) }))))
  }

  return {
    async sessions({ limit, cursor = AFTER_ALL }, keyName) {
      const key = keyName ?? null
      // A session shared by several keys or instances has a row for each; the earliest row counts.
      const found = await link.query<Begun>(
        `SELECT session_id, first_id FROM waybill.sessions AS s WHERE first_id < ? AND ${OWN} AND NOT EXISTS (
             SELECT 1 FROM waybill.sessions AS o WHERE o.session_id = s.session_id AND o.first_id < s.first_id AND ${OWN})
           AND EXISTS (SELECT 1 FROM waybill.calls AS c WHERE c.session_id = s.session_id)
         ORDER BY first_id DESC LIMIT ?`,
        [cursor, key, key, key, key, limit + 1],
      )
      const shown = found.slice(0, limit)
      const ids = shown.map(({ session_id }) => session_id)
      const parts = Map.groupBy(await partsOf(ids, key), ({ session_id }) => session_id)
      const has_more = found.length > limit
      return {
        data: shown.flatMap((begun) => {
          const own = parts.get(begun.session_id)
          return own ? [read(begun, own)] : []
        }),
        has_more,
        next_cursor: has_more ? shown.at(-1)!.first_id : null,
      }
    },
    async dearest(limit, keyName) {
      const key = keyName ?? null
      const found = await link.query<Begun>(
        `SELECT session_id, min(first_id::text) AS first_id FROM waybill.sessions WHERE cost_usd > 0 AND ${OWN}
           GROUP BY session_id ORDER BY sum(cost_usd) DESC LIMIT ?`,
        [key, key, limit],
      )
      const ids = found.map(({ session_id }) => session_id)
      const parts = Map.groupBy(await partsOf(ids, key), ({ session_id }) => session_id)
      return found.flatMap((begun) => {
        const own = parts.get(begun.session_id)
        return own ? [read(begun, own)] : []
      })
    },
    async session(id, keyName) {
      const key = keyName ?? null
      const parts = await partsOf([id], key)
      if (parts.length === 0) return null
      const [first] = await link.query<{ first_id: string }>(
        `SELECT first_id FROM waybill.sessions WHERE session_id = ? AND ${OWN} ORDER BY first_id LIMIT 1`,
        [id, key, key],
      )
      const first_id = first?.first_id ?? parts.map(({ first_id }) => first_id).sort()[0]!
      const summed = parts.map((part) => ({ ...part, sum: sumIn(part) }))
      return {
        ...read({ session_id: id, first_id }, parts),
        by_model: byModel(summed),
        parts: byAgent(summed),
      }
    },
  }
}

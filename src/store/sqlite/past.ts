// Reads calls in the order in which they were made, for repricing. Cannot write.
import { idAt } from '../../core/call.ts'
import type { PastCall } from '../../core/record.ts'
import type { PastReads } from '../reads.ts'

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

// Invariants of a shared log at rest, for the tests in this folder. Computes its own counts.
import assert from 'node:assert/strict'
import { SUM_COLUMNS } from '../sql/usage-sum.ts'
import type { Link } from './link.ts'

const AMOUNTS = SUM_COLUMNS.filter(
  (name) => /^(tokens_|cost_usd|saved_usd|flat_usd|cache_lost)/.test(name) && !name.endsWith('_known'),
)
const SERIES =
  'instance, requested_model, resolved_provider, resolved_model, key_name, route, strategy, tier, cache, endpoint'

/**
 * Checks that the sums of every instance and the cost of every session equal the closed rows. Also checks
 * that the session of every call has a row.
 */
export async function checkSharedSums(link: Link): Promise<void> {
  const sums = await link.query(
    `SELECT hour, ${SERIES}, ${SUM_COLUMNS.map((name) => `round(sum(${name})::numeric, 9) AS ${name}`).join(', ')}
       FROM waybill.usage_hours GROUP BY hour, ${SERIES} ORDER BY hour, ${SERIES}`,
  )
  const rows = await link.query(
    `SELECT created_at / 3600000 AS hour, ${SERIES}, count(*) AS calls,
        sum(CASE WHEN state IN ('failed', 'aborted', 'interrupted') THEN 1 ELSE 0 END) AS failed,
        sum(CASE WHEN fallbacks > 0 THEN 1 ELSE 0 END) AS fell_back,
        sum(CASE WHEN state = 'aborted' THEN 1 ELSE 0 END) AS aborted,
        sum(CASE WHEN cost_usd IS NOT NULL AND coalesce(cost_missing, '[]') <> '[]' THEN 1 ELSE 0 END) AS cost_partial,
        sum(CASE WHEN tokens_source = 'estimated' AND reported_usd IS NULL AND cost_usd > 0 THEN 1 ELSE 0 END) AS cost_estimated,
        ${AMOUNTS.map((name) => `round(coalesce(sum(${name}), 0)::numeric, 9) AS ${name}, count(${name}) AS ${name}_known`).join(', ')}
       FROM waybill.calls WHERE completed_at IS NOT NULL GROUP BY 1, ${SERIES} ORDER BY 1, ${SERIES}`,
  )
  const inOrder = (each: Record<string, unknown>) => Object.entries(each).sort(([a], [b]) => (a < b ? -1 : 1))
  assert.deepEqual(sums.map(inOrder), rows.map(inOrder))
  assert.deepEqual(
    await link.query(
      'SELECT instance, provider, sum(calls) AS calls FROM waybill.latency_hours GROUP BY 1, 2 ORDER BY 1, 2',
    ),
    await link.query(`SELECT instance, resolved_provider AS provider, count(*) AS calls FROM waybill.calls
      WHERE state = 'completed' AND latency_ms IS NOT NULL GROUP BY 1, 2 ORDER BY 1, 2`),
  )
  assert.deepEqual(
    await link.query(
      'SELECT session_id, instance, round(sum(cost_usd)::numeric, 9) AS usd FROM waybill.sessions WHERE cost_usd > 0 GROUP BY 1, 2 ORDER BY 1, 2',
    ),
    await link.query(`SELECT session_id, instance, round(sum(cost_usd)::numeric, 9) AS usd FROM waybill.calls
      WHERE completed_at IS NOT NULL AND session_id IS NOT NULL AND cost_usd > 0 GROUP BY 1, 2 ORDER BY 1, 2`),
  )
  const [{ unknown }] = (await link.query<{ unknown: number }>(
    `SELECT count(*) AS unknown FROM waybill.calls AS c WHERE session_id IS NOT NULL AND NOT EXISTS (
       SELECT 1 FROM waybill.sessions AS s WHERE s.session_id = c.session_id AND s.key_name = coalesce(c.key_name, '')
         AND s.instance = c.instance)`,
  )) as [{ unknown: number }]
  assert.equal(unknown, 0)
}

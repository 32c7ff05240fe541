// Invariants of a database at rest, for the tests in this folder. Computes the sums with separate SQL.
import assert from 'node:assert/strict'
import type { Database } from 'better-sqlite3'

const AMOUNTS = [
  'tokens_input',
  'tokens_output',
  'tokens_cached_input',
  'tokens_cache_write',
  'tokens_reasoning',
  'cost_usd',
]
const COUNTED = `count(*) AS calls, sum(state IN ('failed', 'aborted', 'interrupted')) AS failed, sum(fallbacks > 0) AS fell_back,
  sum(state = 'aborted') AS aborted, sum(cost_usd IS NOT NULL AND coalesce(cost_missing, '[]') <> '[]') AS cost_partial,
  ${AMOUNTS.map((name) => `coalesce(sum(${name}), 0) AS ${name}, count(${name}) AS ${name}_known`).join(', ')}`
const KEPT = `sum(calls) AS calls, sum(failed) AS failed, sum(fell_back) AS fell_back, sum(aborted) AS aborted, sum(cost_partial) AS cost_partial,
  ${AMOUNTS.map((name) => `sum(${name}) AS ${name}, sum(${name}_known) AS ${name}_known`).join(', ')}`
const SERIES = `key_name, requested_model, resolved_provider, resolved_model, route, strategy, tier, price_id`

type Row = Readonly<Record<string, unknown>>

/**
 * Checks that the roll-ups equal the closed rows: per hour and series, per session and key, per step of
 * latency.
 */
export function checkRollUps(db: Database): void {
  const all = (sql: string): Row[] => db.prepare<[], Row>(sql).all()
  const closed = 'FROM call_logs WHERE completed_at IS NOT NULL'
  equal(
    all(
      `SELECT hour, ${SERIES}, ${KEPT} FROM usage_hours JOIN series ON series.id = series_id GROUP BY hour, ${SERIES} ORDER BY hour, ${SERIES}`,
    ),
    all(
      `SELECT created_at / 3600000 AS hour, ${SERIES}, ${COUNTED} ${closed} GROUP BY hour, ${SERIES} ORDER BY hour, ${SERIES}`,
    ),
  )
  const session = `session_id, coalesce(key_name, '') AS key`
  equal(
    all(`SELECT ${session}, ${KEPT} FROM sessions WHERE calls > 0 GROUP BY 1, 2 ORDER BY 1, 2`),
    all(`SELECT ${session}, ${COUNTED} ${closed} AND session_id IS NOT NULL GROUP BY 1, 2 ORDER BY 1, 2`),
  )
  equal(
    all(
      `SELECT hour, provider, key_name AS key, sum(calls) AS calls FROM latency_hours GROUP BY 1, 2, 3 ORDER BY 1, 2, 3`,
    ),
    all(`SELECT created_at / 3600000 AS hour, resolved_provider AS provider, coalesce(key_name, '') AS key, count(*) AS calls
           ${closed} AND state = 'completed' GROUP BY 1, 2, 3 ORDER BY 1, 2, 3`),
  )
}

/**
 * Checks that no reference points to a missing row, and that deleted calls leave nothing behind (LIFE-03).
 */
export function checkReferences(db: Database): void {
  const orphans = {
    attempts: 'SELECT count(*) FROM call_attempts WHERE call_id NOT IN (SELECT id FROM call_logs)',
    'calls without an attempt':
      'SELECT count(*) FROM call_logs WHERE id NOT IN (SELECT call_id FROM call_attempts)',
    artifacts: 'SELECT count(*) FROM artifacts WHERE call_id NOT IN (SELECT id FROM call_logs)',
    sessions: `SELECT count(*) FROM sessions AS s WHERE NOT EXISTS
      (SELECT 1 FROM call_logs AS c WHERE c.session_id = s.session_id AND c.key_name IS nullif(s.key_name, ''))`,
    series: 'SELECT count(*) FROM series WHERE id NOT IN (SELECT series_id FROM usage_hours)',
    'hours without a series':
      'SELECT count(*) FROM usage_hours WHERE series_id NOT IN (SELECT id FROM series)',
    prices:
      'SELECT count(*) FROM prices WHERE id NOT IN (SELECT price_id FROM call_logs WHERE price_id IS NOT NULL)',
    'calls without their price':
      'SELECT count(*) FROM call_logs WHERE price_id IS NOT NULL AND price_id NOT IN (SELECT id FROM prices)',
  }
  for (const [what, sql] of Object.entries(orphans)) assert.equal(db.prepare(sql).pluck().get(), 0, what)
  assert.equal(db.pragma('integrity_check', { simple: true }), 'ok')
}

/** Compares sums of fractions, except for their last digits. */
function equal(kept: readonly Row[], counted: readonly Row[]): void {
  const rounded = (row: Row) =>
    Object.fromEntries(
      Object.entries(row).map(([name, value]) => [
        name,
        typeof value === 'number' ? Math.round(value * 1e9) / 1e9 : value,
      ]),
    )
  assert.deepEqual(kept.map(rounded), counted.map(rounded))
}

// Sums over rows of `calls`, as SQL. The sums are those of `../sql/usage-sum.ts`, named by its columns.
import { SUM_COLUMNS, type Sum } from '../sql/usage-sum.ts'

const sqlOf = (name: string): string => {
  if (name === 'calls') return 'count(*)'
  if (name === 'failed') return `count(*) FILTER (WHERE state IN ('failed', 'aborted', 'interrupted'))`
  if (name === 'aborted') return `count(*) FILTER (WHERE state = 'aborted')`
  if (name === 'cost_partial') return `count(*) FILTER (WHERE cost_usd IS NOT NULL AND cost_missing <> '[]')`
  if (name === 'cost_estimated')
    return `count(*) FILTER (WHERE tokens_source = 'estimated' AND reported_usd IS NULL AND cost_usd > 0)`
  if (name === 'fell_back') return 'count(*) FILTER (WHERE fallbacks > 0)'
  return name.endsWith('_known')
    ? `count(${name.slice(0, -6)})`
    : `coalesce(sum(${name}), 0)::double precision`
}

export const SUMS: readonly string[] = SUM_COLUMNS.map(sqlOf)

/** For a SELECT. */
export const NAMED_SUMS: string = SUM_COLUMNS.map((name) => `${sqlOf(name)} AS ${name}`).join(', ')

/** Returns the sum in a row with these columns. */
export const sumIn = (row: Readonly<Record<string, unknown>>): Sum =>
  SUM_COLUMNS.map((name) => Number(row[name]))

/** Latency step of a row, see `../latency.ts`. */
export const LATENCY_STEP =
  'least(greatest(ceil(2 * ln(greatest(latency_ms, 0.001) / 16) / ln(2)), 0), 31)::bigint'

// Sums the calls of a span of time over all instances. Whole hours come from the sums. Open calls and the
// partial hours at both ends come from the rows. Cannot write.
import type { Reads, Span } from '../reads.ts'
import {
  bucketsOf,
  COLUMN_OF,
  type GroupBy,
  type GroupKey,
  groupLatencies,
  groupSums,
  historyOf,
  needsRows,
  type SpanGroup,
  sharesOf,
  TARGET_KEYS,
  targetsOf,
} from '../span-answers.ts'
import { merge, SUM_COLUMNS } from '../sql/usage-sum.ts'
import type { Link } from './link.ts'
import { lowestId } from './schema.ts'
import { LATENCY_STEP, NAMED_SUMS, sumIn } from './sums.ts'

const HOUR = 3_600_000
const OWN = '(?::text IS NULL OR key_name = ?)'
/** Timeout, ms. A month of a busy fleet has some hundred thousand sums. */
const READ_MS = 20_000

type Row = Readonly<Record<string, GroupKey>>

export function openSpanReads(link: Link): Pick<Reads, 'history' | 'targets' | 'routing'> {
  async function groups(
    span: Span,
    keyName: string | undefined,
    by: readonly GroupBy[],
    bucketMs = HOUR,
  ): Promise<SpanGroup[]> {
    const key = keyName ?? null
    const { rows, hours } = wholeHoursOf(span, needsRows(by) ? 0 : bucketMs)
    const { sumOf, all } = groupSums()
    const addUp = async (start: string, rest: string, values: readonly unknown[]) => {
      const columns = by.map((name) =>
        name === '@start' ? `${start} / ${bucketMs} * ${bucketMs} AS "@start"` : name,
      )
      const sql = `SELECT ${columns.join(', ')}, ${rest} AND ${OWN} GROUP BY ${by.map((_, index) => index + 1).join(', ')}`
      for (const row of await link.query<Row>(sql, [...values, key, key], READ_MS))
        merge(sumOf(by.map((name) => row[name]!)), sumIn(row))
    }
    const addRows = (condition: string, [since, until]: readonly [number, number]) =>
      addUp('created_at', `${NAMED_SUMS} FROM waybill.calls WHERE ${condition} AND id >= ? AND id < ?`, [
        lowestId(since),
        lowestId(until),
      ])
    for (const part of rows) await addRows('true', part)
    if (hours === null) return all()
    await addRows('completed_at IS NULL', [hours[0] * HOUR, hours[1] * HOUR])
    const sums = SUM_COLUMNS.map((name) => `sum(${name}) AS ${name}`).join(', ')
    await addUp(`hour * ${HOUR}`, `${sums} FROM waybill.usage_hours WHERE hour >= ? AND hour < ?`, hours)
    return all()
  }

  async function latencies(span: Span, keyName: string | undefined) {
    const key = keyName ?? null
    const { rows, hours } = wholeHoursOf(span, HOUR)
    const { found, count } = groupLatencies()
    const addUp = async (sql: string, values: readonly unknown[]) => {
      const grouped = `${sql} AND ${OWN} GROUP BY 1, 2`
      const steps = await link.query<{ provider: string; step: number; calls: number }>(
        grouped,
        [...values, key, key],
        READ_MS,
      )
      for (const { provider, step, calls } of steps) count(provider, step, calls)
    }
    for (const [since, until] of rows)
      await addUp(
        `SELECT resolved_provider AS provider, ${LATENCY_STEP} AS step, count(*) AS calls FROM waybill.calls
           WHERE state = 'completed' AND latency_ms IS NOT NULL AND id >= ? AND id < ?`,
        [lowestId(since), lowestId(until)],
      )
    if (hours !== null)
      await addUp(
        'SELECT provider, step, sum(calls) AS calls FROM waybill.latency_hours WHERE hour >= ? AND hour < ?',
        hours,
      )
    return found
  }

  return {
    async history(span, division, by, keyName) {
      const buckets = bucketsOf(division, span)
      const keys = by ? (['@start', COLUMN_OF[by]] as const) : (['@start'] as const)
      return historyOf(await groups(span, keyName, keys, buckets.stepMs), by, buckets)
    },
    targets: async (span, keyName) => targetsOf(await groups(span, keyName, TARGET_KEYS)),
    routing: async (span, keyName) =>
      sharesOf(
        await groups(span, keyName, ['strategy', 'tier', 'resolved_provider']),
        await latencies(span, keyName),
      ),
  }
}

/**
 * Returns the numbers of the whole hours in a span, and the rest of the span. Buckets below an hour need the
 * rows.
 */
function wholeHoursOf({ since, until }: Span, bucketMs: number) {
  const [first, last] = [Math.ceil(since / HOUR), Math.floor(until / HOUR)]
  if (bucketMs < HOUR || first >= last) return { rows: [[since, until]] as const, hours: null }
  const ends = [
    [since, first * HOUR],
    [last * HOUR, until],
  ] as const
  return { rows: ends.filter(([from, to]) => from < to), hours: [first, last] as const }
}

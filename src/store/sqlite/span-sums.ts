// Sums the calls of a span of time, grouped by some of their columns. Whole hours come from the roll-ups,
// open calls from the rows. If the span cuts an hour, the shorter side is read from the rows, and is added to
// the sums or subtracted from the whole hour. A span that ends now therefore costs no more in a busy hour.
// Cannot write.
import type { Database } from 'better-sqlite3'
import { idAt } from '../../core/call.ts'
import { clock } from '../../shared/clock.ts'
import type { RoutingReads, Span, UsageReads } from '../reads.ts'
import {
  bucketsOf,
  type GroupBy,
  type GroupKey,
  groupLatencies,
  groupSums,
  historyKeys,
  historyOf,
  type Latencies,
  needsRows,
  type SpanGroup,
  sharesOf,
  stepOf,
  TARGET_KEYS,
  targetsOf,
} from '../span-answers.ts'
import { add, calls, merge, SUM_COLUMNS, SUMMAND, type Summand } from '../sql/usage-sum.ts'
import { HOUR } from './roll-ups.ts'

type Parameters = { readonly key: string | null; readonly from: GroupKey; readonly to: GroupKey }

/** Rows to add, or closed rows to subtract from their hour; ms, end exclusive. */
interface Part {
  readonly from: number
  readonly to: number
  readonly sign: 1 | -1
}

interface Parts {
  readonly rows: readonly Part[]
  /** The first hour, and the hour after the last one. */
  readonly hours: readonly [number, number] | null
}

/** Returns the parts of a span to read; buckets below an hour need the rows. */
function partsOf({ since, until }: Span, bucketMs: number): Parts {
  const inside: Parts = { rows: [{ from: since, to: until, sign: 1 }], hours: null }
  if (bucketMs < HOUR) return inside
  const rows: Part[] = []
  let [first, last] = [Math.ceil(since / HOUR), Math.floor(until / HOUR)]
  const before = since - (first - 1) * HOUR
  const after = Math.min(clock.now(), (last + 1) * HOUR) - until // no calls are in the future
  if (before < first * HOUR - since) rows.push({ from: --first * HOUR, to: since, sign: -1 })
  else rows.push({ from: since, to: first * HOUR, sign: 1 })
  if (after < until - last * HOUR) rows.push({ from: until, to: ++last * HOUR, sign: -1 })
  else rows.push({ from: last * HOUR, to: until, sign: 1 })
  return first < last ? { rows: rows.filter(({ from, to }) => from < to), hours: [first, last] } : inside
}

function openSpanSums(db: Database) {
  const OWN = '(@key IS NULL OR key_name = @key)'
  const between = (columns: string, condition: string) =>
    `SELECT ${columns} FROM call_logs WHERE ${condition} AND id >= @from AND id < @to AND ${OWN}`
  const latencyRows = db.prepare<
    Parameters,
    { resolved_provider: string; state: string; latency_ms: number | null }
  >(between('resolved_provider, state, latency_ms', 'true'))
  const latencyHours = db
    .prepare<Parameters, [provider: string, step: number, calls: number]>(
      `SELECT provider, step, sum(calls) FROM latency_hours
         WHERE hour >= @from AND hour < @to AND ${OWN} GROUP BY provider, step`,
    )
    .raw()

  return {
    /**
     * Returns the groups, unordered. Includes only calls of this gateway key, if given. `bucketMs` is a day
     * or a divisor of a day.
     */
    groups(span: Span, keyName: string | undefined, by: readonly GroupBy[], bucketMs = HOUR): SpanGroup[] {
      const key = keyName ?? null
      const { rows, hours } = partsOf(span, needsRows(by) ? 0 : bucketMs)
      const { sumOf, all } = groupSums()
      const columns = `${by.map((name) => (name === '@start' ? `created_at / ${bucketMs} * ${bucketMs} AS "@start"` : name)).join(', ')}, ${SUMMAND}`
      const addRows = (condition: string, { from, to, sign }: Part) => {
        const select = db.prepare<Parameters, Summand & Record<GroupBy, GroupKey>>(
          between(columns, condition),
        )
        for (const row of select.iterate({ key, from: idAt(from), to: idAt(to) }))
          add(sumOf(by.map((name) => row[name])), row, sign)
      }
      for (const part of rows) addRows(part.sign > 0 ? 'true' : 'completed_at IS NOT NULL', part)
      if (hours === null) return all()

      const [first, last] = hours
      const [from, to] = [Math.max(first * HOUR, span.since), Math.min(last * HOUR, span.until)]
      addRows('completed_at IS NULL', { from, to, sign: 1 })
      const starts = by.map((name) =>
        name === '@start' ? `hour * ${HOUR} / ${bucketMs} * ${bucketMs}` : name,
      )
      const whole = db
        .prepare<Parameters, GroupKey[]>(
          `SELECT ${[...starts, ...SUM_COLUMNS.map((name) => `sum(${name})`)].join(', ')}
             FROM usage_hours JOIN series ON series.id = series_id
             WHERE hour >= @from AND hour < @to AND ${OWN} GROUP BY ${by.map((_, index) => index + 1).join(', ')}`,
        )
        .raw()
      for (const row of whole.iterate({ key, from: first, to: last }))
        merge(sumOf(row.slice(0, by.length)), row.slice(by.length) as number[])
      return all().filter(({ sum }) => calls(sum) > 0)
    },

    /** Returns latencies of completed calls by provider. */
    latencies(span: Span, keyName: string | undefined): Map<string, Latencies> {
      const key = keyName ?? null
      const { rows, hours } = partsOf(span, HOUR)
      const { found, count } = groupLatencies()
      for (const { from, to, sign } of rows)
        for (const row of latencyRows.iterate({ key, from: idAt(from), to: idAt(to) })) {
          const step = stepOf(row)
          if (step !== null) count(row.resolved_provider, step, sign)
        }
      if (hours !== null)
        for (const row of latencyHours.iterate({ key, from: hours[0], to: hours[1] })) count(...row)
      return found
    },
  }
}

export function openUsage(db: Database): UsageReads {
  const sums = openSpanSums(db)
  return {
    history(span, division, by, keyName) {
      const buckets = bucketsOf(division, span)
      return historyOf(sums.groups(span, keyName, historyKeys(by), buckets.stepMs), by, buckets)
    },
    targets: (span, keyName) => targetsOf(sums.groups(span, keyName, TARGET_KEYS)),
  }
}

export function openRoutingShares(db: Database): RoutingReads {
  const sums = openSpanSums(db)
  return {
    routing: (span, keyName) =>
      sharesOf(
        sums.groups(span, keyName, ['strategy', 'tier', 'resolved_provider']),
        sums.latencies(span, keyName),
      ),
  }
}

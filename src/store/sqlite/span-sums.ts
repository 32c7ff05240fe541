// What the calls of a span of time add up to, grouped by some of their columns. Whole hours come from the roll-ups;
// what is left at both ends, and what is still open, from the rows. Cannot write.

import type { Database } from 'better-sqlite3'
import { idAt } from '../../call.ts'
import { type Latencies, stepOf } from '../latency.ts'
import type { Span } from '../reads.ts'
import {
  type GroupBy,
  type GroupKey,
  groupLatencies,
  groupSums,
  partsOf,
  type SpanGroup,
} from '../span-answers.ts'
import { add, COLUMNS, merge, SUMMAND, type Summand } from '../usage-sum.ts'
import { HOUR } from './roll-ups.ts'

type Parameters = { readonly key: string | null; readonly from: GroupKey; readonly to: GroupKey }

export function openSpanSums(db: Database) {
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
    /** Groups in no order; only calls of this gateway key where one is given. `bucketMs` divides a day or is one. */
    groups(span: Span, keyName: string | undefined, by: readonly GroupBy[], bucketMs = HOUR): SpanGroup[] {
      const key = keyName ?? null
      const { rows, hours } = partsOf(span, bucketMs)
      const { sumOf, all } = groupSums()
      const columns = `${by.map((name) => (name === '@start' ? `created_at / ${bucketMs} * ${bucketMs} AS "@start"` : name)).join(', ')}, ${SUMMAND}`
      const addRows = (condition: string, [since, until]: readonly [number, number]) => {
        const select = db.prepare<Parameters, Summand & Record<GroupBy, GroupKey>>(
          between(columns, condition),
        )
        for (const row of select.iterate({ key, from: idAt(since), to: idAt(until) }))
          add(sumOf(by.map((name) => row[name])), row)
      }
      for (const part of rows) addRows('true', part)
      if (hours === null) return all()

      const [first, last] = hours
      addRows('completed_at IS NULL', [first * HOUR, last * HOUR])
      const starts = by.map((name) =>
        name === '@start' ? `hour * ${HOUR} / ${bucketMs} * ${bucketMs}` : name,
      )
      const whole = db
        .prepare<Parameters, GroupKey[]>(
          `SELECT ${[...starts, ...COLUMNS.map((name) => `sum(${name})`)].join(', ')}
             FROM usage_hours JOIN series ON series.id = series_id
             WHERE hour >= @from AND hour < @to AND ${OWN} GROUP BY ${by.map((_, index) => index + 1).join(', ')}`,
        )
        .raw()
      for (const row of whole.iterate({ key, from: first, to: last }))
        merge(sumOf(row.slice(0, by.length)), row.slice(by.length) as number[])
      return all()
    },

    /** Latencies of completed calls by provider. */
    latencies(span: Span, keyName: string | undefined): Map<string, Latencies> {
      const key = keyName ?? null
      const { rows, hours } = partsOf(span, HOUR)
      const { found, count } = groupLatencies()
      for (const [since, until] of rows)
        for (const row of latencyRows.iterate({ key, from: idAt(since), to: idAt(until) })) {
          const step = stepOf(row)
          if (step !== null) count(row.resolved_provider, step, 1)
        }
      if (hours !== null)
        for (const row of latencyHours.iterate({ key, from: hours[0], to: hours[1] })) count(...row)
      return found
    },
  }
}

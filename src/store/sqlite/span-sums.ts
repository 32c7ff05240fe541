// What the calls of a span of time add up to, grouped by some of their columns. Whole hours come from the roll-ups;
// what is left at both ends, and what is still open, from the rows. Cannot write.

import type { Database } from 'better-sqlite3'
import { idAt } from '../../call.ts'
import { type Latencies, stepOf } from '../latency.ts'
import type { Span } from '../reads.ts'
import { add, COLUMNS, emptySum, merge, SUMMAND, type Sum, type Summand } from '../usage-sum.ts'
import { HOUR } from './roll-ups.ts'

type Key = string | number | null

export interface Group {
  /** As many as columns were asked for. */
  readonly keys: readonly Key[]
  readonly sum: Sum
}

/** What is grouped by: labels of a series, or `@start`, the beginning of the bucket of time, ms. */
export type GroupBy =
  | '@start'
  | 'resolved_provider'
  | 'resolved_model'
  | 'route'
  | 'strategy'
  | 'tier'
  | 'key_name'

type Parameters = { readonly key: string | null; readonly from: Key; readonly to: Key }

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
    groups(span: Span, keyName: string | undefined, by: readonly GroupBy[], bucketMs = HOUR): Group[] {
      const key = keyName ?? null
      const { rows, hours } = parts(span, bucketMs)
      const groups = new Map<string, Group>()
      const sumOf = (keys: readonly Key[]): Sum => {
        const name = JSON.stringify(keys)
        let group = groups.get(name)
        if (!group) {
          group = { keys, sum: emptySum() }
          groups.set(name, group)
        }
        return group.sum
      }

      const columns = `${by.map((name) => (name === '@start' ? `created_at / ${bucketMs} * ${bucketMs} AS "@start"` : name)).join(', ')}, ${SUMMAND}`
      const addRows = (condition: string, [since, until]: readonly [number, number]) => {
        const select = db.prepare<Parameters, Summand & Record<GroupBy, Key>>(between(columns, condition))
        for (const row of select.iterate({ key, from: idAt(since), to: idAt(until) }))
          add(sumOf(by.map((name) => row[name])), row)
      }
      for (const part of rows) addRows('true', part)
      if (hours === null) return [...groups.values()]

      const [first, last] = hours
      addRows('completed_at IS NULL', [first * HOUR, last * HOUR])
      const starts = by.map((name) =>
        name === '@start' ? `hour * ${HOUR} / ${bucketMs} * ${bucketMs}` : name,
      )
      const whole = db
        .prepare<Parameters, Key[]>(
          `SELECT ${[...starts, ...COLUMNS.map((name) => `sum(${name})`)].join(', ')}
             FROM usage_hours JOIN series ON series.id = series_id
             WHERE hour >= @from AND hour < @to AND ${OWN} GROUP BY ${by.map((_, index) => index + 1).join(', ')}`,
        )
        .raw()
      for (const row of whole.iterate({ key, from: first, to: last }))
        merge(sumOf(row.slice(0, by.length)), row.slice(by.length) as number[])
      return [...groups.values()]
    },

    /** Latencies of completed calls by provider. */
    latencies(span: Span, keyName: string | undefined): Map<string, Latencies> {
      const key = keyName ?? null
      const { rows, hours } = parts(span, HOUR)
      const found = new Map<string, Latencies>()
      const count = (provider: string, step: number, calls: number) => {
        const steps = found.get(provider) ?? new Map<number, number>()
        found.set(provider, steps.set(step, (steps.get(step) ?? 0) + calls))
      }
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

/** The whole hours of a span, by their numbers, and what is left of it; buckets below an hour need the rows. */
function parts({ since, until }: Span, bucketMs: number) {
  const [first, last] = [Math.ceil(since / HOUR), Math.floor(until / HOUR)]
  if (bucketMs < HOUR || first >= last) return { rows: [[since, until]] as const, hours: null }
  const ends = [
    [since, first * HOUR],
    [last * HOUR, until],
  ] as const
  return { rows: ends.filter(([from, to]) => from < to), hours: [first, last] as const }
}

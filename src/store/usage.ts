// What the calls of a span of time add up to: usage in buckets, and how they were routed. Whole hours come from the
// roll-ups, what is left at both ends and what is still open from the rows. Cannot write.
import type { Database } from 'better-sqlite3'
import { idAt } from '../call.ts'
import { HOUR } from './roll-ups.ts'
import {
  add,
  COLUMNS,
  calls,
  costOf,
  emptySum,
  failed,
  fellBack,
  medianLatency,
  merge,
  SESSION_COLUMNS,
  SUMMAND,
  type Sum,
  type Summand,
  tokensOf,
} from './tally.ts'

/** Milliseconds since the epoch; since is inclusive, until is not. */
export interface Span {
  readonly since: number
  readonly until: number
}

/** What usage can be told apart by -> its column. */
const BY = {
  provider: 'resolved_provider',
  model: 'resolved_model',
  route: 'route',
  tier: 'tier',
  key: 'key_name',
} as const
export type By = keyof typeof BY

/** Sums of calls; tokens and cost are of those calls for which they are known. */
export interface Usage {
  readonly calls: number
  readonly failed: number
  readonly input_tokens: number | null
  readonly output_tokens: number | null
  readonly cost_usd: number | null
}

export interface Bucket extends Usage {
  readonly start: string
  /** The provider, model, route, tier or key, where it was asked for; null for calls without one. */
  readonly by?: string | null
}

export interface History {
  readonly totals: Usage
  /** Oldest first; a bucket without calls is left out. */
  readonly buckets: readonly Bucket[]
}

export interface Share {
  readonly calls: number
  /** Of all calls; null where there are none. */
  readonly share: number | null
}

export interface Routing {
  readonly total_calls: number
  readonly strategy_distribution: Readonly<Record<string, Share>>
  readonly tier_distribution: Readonly<Record<string, Share>>
  readonly top_providers: readonly (Share & {
    readonly provider: string
    readonly p50_latency_ms: number | null
  })[]
  readonly fallback: Share
}

export interface UsageReads {
  /** `bucketMs` divides a day or is one; with `keyName` only calls of this gateway key. */
  history(span: Span, bucketMs: number, by?: By, keyName?: string): History
  routing(span: Span, keyName?: string): Routing
}

type Row = Summand & { readonly created_at: number } & Readonly<Record<string, string | null>>
type Key = string | number | null

export function openUsage(db: Database): UsageReads {
  const rowsWhere = (condition: string) =>
    db.prepare<object, Row>(
      `SELECT created_at, resolved_provider, resolved_model, route, strategy, tier, key_name, ${SUMMAND}
         FROM call_logs WHERE ${condition} AND id >= @from AND id < @to AND (@key IS NULL OR key_name = @key)`,
    )
  const allRows = rowsWhere('true')
  const openRows = rowsWhere('completed_at IS NULL')
  const hours = (keys: readonly string[], columns: readonly string[]) =>
    db
      .prepare<object, (string | number | null)[]>(
        `SELECT ${[...keys, ...columns.map((name) => `sum(${name})`)].join(', ')}
           FROM usage_hours JOIN series ON series.id = series_id
           WHERE hour >= @from AND hour < @to AND (@key IS NULL OR key_name = @key)
           GROUP BY ${keys.map((_, index) => index + 1).join(', ')}`,
      )
      .raw()
  const byHour = (bucketMs: number, by: By | undefined) =>
    hours([`hour * ${HOUR} / ${bucketMs} * ${bucketMs}`, by === undefined ? 'NULL' : BY[by]], SESSION_COLUMNS)
  const routed = hours(['strategy', 'tier', 'resolved_provider'], COLUMNS)

  /** Sums of a span, grouped by keys: those of a row, and the first `width` columns of what `whole` selects. */
  function groups<Keys extends readonly Key[]>(
    { since, until }: Span,
    keyName: string | undefined,
    whole: ReturnType<typeof hours> | null,
    width: Keys['length'],
    keysOf: (row: Row) => Keys,
  ): { keys: Keys; sum: Sum }[] {
    const found = new Map<string, { keys: Keys; sum: Sum }>()
    const sumOf = (keys: Keys): Sum => {
      const name = JSON.stringify(keys)
      let group = found.get(name)
      if (!group) {
        group = { keys, sum: emptySum() }
        found.set(name, group)
      }
      return group.sum
    }
    const key = keyName ?? null
    const fromRows = (rows: typeof allRows, from: number, to: number) => {
      if (from >= to) return
      for (const row of rows.iterate({ key, from: idAt(from), to: idAt(to) })) add(sumOf(keysOf(row)), row)
    }
    const first = Math.ceil(since / HOUR)
    const last = Math.floor(until / HOUR)
    if (whole === null || first >= last) fromRows(allRows, since, until)
    else {
      fromRows(allRows, since, first * HOUR)
      fromRows(openRows, first * HOUR, last * HOUR)
      fromRows(allRows, last * HOUR, until)
      for (const row of whole.iterate({ key, from: first, to: last }))
        merge(sumOf(row.slice(0, width) as unknown as Keys), row.slice(width) as number[])
    }
    return [...found.values()]
  }

  return {
    history(span, bucketMs, by, keyName) {
      const whole = bucketMs < HOUR ? null : byHour(bucketMs, by)
      const found = groups(span, keyName, whole, 2, (row): [number, string | null] => [
        Math.floor(row.created_at / bucketMs) * bucketMs,
        by === undefined ? null : row[BY[by]]!,
      ])
      return {
        totals: usageOf(total(found)),
        buckets: found
          .sort((a, b) => a.keys[0] - b.keys[0] || calls(b.sum) - calls(a.sum))
          .map(({ keys: [start, name], sum }) => ({
            start: new Date(start).toISOString(),
            ...(by !== undefined && { by: name }),
            ...usageOf(sum),
          })),
      }
    },

    routing(span, keyName) {
      const found = groups(span, keyName, routed, 3, (row): [string, string | null, string] => [
        row.strategy!,
        row.tier!,
        row.resolved_provider!,
      ])
      const sum = total(found)
      const all = calls(sum)
      const share = (count: number): Share => ({ calls: count, share: all === 0 ? null : count / all })
      /** One of the keys, largest first. */
      const by = (index: 0 | 1 | 2) =>
        [...Map.groupBy(found, ({ keys }) => keys[index] ?? 'none')]
          .map(([name, same]) => ({ name, sum: total(same) }))
          .sort((a, b) => calls(b.sum) - calls(a.sum))
      const distribution = (index: 0 | 1) =>
        Object.fromEntries(by(index).map(({ name, sum }) => [name, share(calls(sum))]))
      return {
        total_calls: all,
        strategy_distribution: distribution(0),
        tier_distribution: distribution(1),
        top_providers: by(2).map(({ name, sum }) => ({
          provider: name,
          ...share(calls(sum)),
          p50_latency_ms: medianLatency(sum),
        })),
        fallback: share(fellBack(sum)),
      }
    },
  }
}

function total(groups: readonly { readonly sum: Sum }[]): Sum {
  const all = emptySum()
  for (const { sum } of groups) merge(all, sum)
  return all
}

const usageOf = (sum: Sum): Usage => {
  const { input, output } = tokensOf(sum)
  return {
    calls: calls(sum),
    failed: failed(sum),
    input_tokens: input,
    output_tokens: output,
    cost_usd: costOf(sum),
  }
}

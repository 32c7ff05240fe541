// What the calls of a span of time add up to: usage in buckets, and how they were routed. Cannot write.
import type { Database } from 'better-sqlite3'
import { idAt } from '../call.ts'
import {
  add,
  calls,
  costOf,
  emptySum,
  failed,
  fellBack,
  medianLatency,
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

export function openUsage(db: Database): UsageReads {
  const rows = db.prepare<unknown[], Row>(
    `SELECT created_at, resolved_provider, resolved_model, route, strategy, tier, key_name, ${SUMMAND}
       FROM call_logs WHERE id >= ? AND id < ? AND (? IS NULL OR key_name = ?)`,
  )
  const within = ({ since, until }: Span, keyName: string | undefined) =>
    rows.iterate(idAt(since), idAt(until), keyName ?? null, keyName ?? null)

  return {
    history(span, bucketMs, by, keyName) {
      const totals = emptySum()
      const buckets = new Groups<{ start: number; by: string | null }>()
      for (const row of within(span, keyName)) {
        add(totals, row)
        const start = Math.floor(row.created_at / bucketMs) * bucketMs
        add(buckets.of({ start, by: by === undefined ? null : row[BY[by]]! }), row)
      }
      return {
        totals: usageOf(totals),
        buckets: buckets.entries
          .sort((a, b) => a.of.start - b.of.start || calls(b.sum) - calls(a.sum))
          .map(({ of, sum }) => ({
            start: new Date(of.start).toISOString(),
            ...(by !== undefined && { by: of.by }),
            ...usageOf(sum),
          })),
      }
    },

    routing(span, keyName) {
      const total = emptySum()
      const strategies = new Groups<string>()
      const tiers = new Groups<string>()
      const providers = new Groups<string>()
      for (const row of within(span, keyName)) {
        add(total, row)
        add(strategies.of(row.strategy!), row)
        add(tiers.of(row.tier ?? 'none'), row)
        add(providers.of(row.resolved_provider!), row)
      }
      const all = calls(total)
      const share = (count: number): Share => ({ calls: count, share: all === 0 ? null : count / all })
      const distribution = (groups: Groups<string>) =>
        Object.fromEntries(groups.largestFirst().map(({ of, sum }) => [of, share(calls(sum))]))
      return {
        total_calls: all,
        strategy_distribution: distribution(strategies),
        tier_distribution: distribution(tiers),
        top_providers: providers.largestFirst().map(({ of, sum }) => ({
          provider: of,
          ...share(calls(sum)),
          p50_latency_ms: medianLatency(sum),
        })),
        fallback: share(fellBack(total)),
      }
    },
  }
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

/** Sums by what the calls have in common. */
class Groups<Of> {
  readonly #groups = new Map<string, { readonly of: Of; readonly sum: Sum }>()

  of(key: Of): Sum {
    const name = JSON.stringify(key)
    let group = this.#groups.get(name)
    if (!group) {
      group = { of: key, sum: emptySum() }
      this.#groups.set(name, group)
    }
    return group.sum
  }

  get entries() {
    return [...this.#groups.values()]
  }

  largestFirst() {
    return this.entries.sort((a, b) => calls(b.sum) - calls(a.sum))
  }
}

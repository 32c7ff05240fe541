// How the calls of a span of time were routed: the shares of strategies, tiers and providers. Cannot write.
import type { Database } from 'better-sqlite3'
import { medianOf } from './latency.ts'
import { openSpanSums, type Span } from './span-sums.ts'
import { calls, fellBack, total } from './usage-sum.ts'

export interface Share {
  readonly calls: number
  /** Of all calls; null where there are none. */
  readonly share: number | null
}

/** Contract "Auto-routing analytics". Calls without a tier are under `none`. */
export interface RoutingShares {
  readonly total_calls: number
  readonly strategy_distribution: Readonly<Record<string, Share>>
  readonly tier_distribution: Readonly<Record<string, Share>>
  readonly top_providers: readonly (Share & {
    readonly provider: string
    readonly p50_latency_ms: number | null
  })[]
  readonly fallback: Share
}

export interface RoutingReads {
  /** With `keyName` only calls of this gateway key. */
  routing(span: Span, keyName?: string): RoutingShares
}

export function openRoutingShares(db: Database): RoutingReads {
  const sums = openSpanSums(db)
  return {
    routing(span, keyName) {
      const groups = sums.groups(span, keyName, ['strategy', 'tier', 'resolved_provider'])
      const latencies = sums.latencies(span, keyName)
      const sum = total(groups)
      const all = calls(sum)
      const share = (count: number): Share => ({ calls: count, share: all === 0 ? null : count / all })
      /** Shares by one of the keys, largest first. */
      const shares = (index: 0 | 1 | 2): [string, Share][] =>
        [...Map.groupBy(groups, ({ keys }) => String(keys[index] ?? 'none'))]
          .map(([name, same]): [string, Share] => [name, share(calls(total(same)))])
          .sort(([, a], [, b]) => b.calls - a.calls)
      return {
        total_calls: all,
        strategy_distribution: Object.fromEntries(shares(0)),
        tier_distribution: Object.fromEntries(shares(1)),
        top_providers: shares(2).map(([provider, share]) => ({
          provider,
          ...share,
          p50_latency_ms: medianOf(latencies.get(provider) ?? new Map()),
        })),
        fallback: share(fellBack(sum)),
      }
    },
  }
}

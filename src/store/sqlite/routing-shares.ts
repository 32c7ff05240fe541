// How the calls of a span of time were routed: the shares of strategies, tiers and providers. Cannot write.

import type { Database } from 'better-sqlite3'
import { medianOf } from '../latency.ts'
import type { RoutingReads, Share } from '../reads.ts'
import { calls, fellBack, total } from '../usage-sum.ts'
import { openSpanSums } from './span-sums.ts'

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

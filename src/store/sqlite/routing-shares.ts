// Reads the shares of strategies, tiers and providers in a span of time. Cannot write.

import type { Database } from 'better-sqlite3'
import type { RoutingReads } from '../reads.ts'
import { sharesOf } from '../span-answers.ts'
import { openSpanSums } from './span-sums.ts'

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

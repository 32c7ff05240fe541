// What the calls of a span of time used: in all, and in buckets of time. Cannot write.

import type { Database } from 'better-sqlite3'
import type { Usage, UsageKey, UsageReads } from '../reads.ts'
import { calls, costOf, failed, fellBack, type Sum, savedOf, tokensOf, total } from '../usage-sum.ts'
import { openSpanSums } from './span-sums.ts'

/** What usage can be told apart by -> its column. */
const BY = {
  provider: 'resolved_provider',
  model: 'resolved_model',
  route: 'route',
  tier: 'tier',
  key: 'key_name',
} as const satisfies Record<UsageKey, string>

export function openUsage(db: Database): UsageReads {
  const sums = openSpanSums(db)
  return {
    history(span, bucketMs, by, keyName) {
      const groups = sums.groups(span, keyName, by ? ['@start', BY[by]] : ['@start'], bucketMs)
      const start = ({ keys }: (typeof groups)[number]) => keys[0] as number
      return {
        totals: usageOf(total(groups)),
        buckets: groups
          .sort((a, b) => start(a) - start(b) || calls(b.sum) - calls(a.sum))
          .map((group) => ({
            start: new Date(start(group)).toISOString(),
            ...(by && { by: group.keys[1] as string | null }),
            ...usageOf(group.sum),
          })),
      }
    },
  }
}

const usageOf = (sum: Sum): Usage => {
  const { input, output } = tokensOf(sum)
  return {
    calls: calls(sum),
    failed: failed(sum),
    fell_back: fellBack(sum),
    input_tokens: input,
    output_tokens: output,
    cost_usd: costOf(sum),
    saved_usd: savedOf(sum),
  }
}

// Reads the usage of a span of time, in total and per bucket of time. Cannot write.

import type { Database } from 'better-sqlite3'
import type { UsageReads } from '../reads.ts'
import { bucketsOf, COLUMN_OF, historyOf, TARGET_KEYS, targetsOf } from '../span-answers.ts'
import { openSpanSums } from './span-sums.ts'

export function openUsage(db: Database): UsageReads {
  const sums = openSpanSums(db)
  return {
    history(span, division, by, keyName) {
      const buckets = bucketsOf(division, span)
      const keys = by ? (['@start', COLUMN_OF[by]] as const) : (['@start'] as const)
      return historyOf(sums.groups(span, keyName, keys, buckets.stepMs), by, buckets)
    },
    targets: (span, keyName) => targetsOf(sums.groups(span, keyName, TARGET_KEYS)),
  }
}

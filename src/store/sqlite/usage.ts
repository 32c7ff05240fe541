// Reads the usage of a span of time, in total and per bucket of time. Cannot write.

import type { Database } from 'better-sqlite3'
import type { UsageReads } from '../reads.ts'
import { COLUMN_OF, historyOf, TARGET_KEYS, targetsOf } from '../span-answers.ts'
import { openSpanSums } from './span-sums.ts'

export function openUsage(db: Database): UsageReads {
  const sums = openSpanSums(db)
  return {
    history: (span, bucketMs, by, keyName) =>
      historyOf(sums.groups(span, keyName, by ? ['@start', COLUMN_OF[by]] : ['@start'], bucketMs), by),
    targets: (span, keyName) => targetsOf(sums.groups(span, keyName, TARGET_KEYS)),
  }
}

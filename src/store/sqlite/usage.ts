// Reads the usage of a span of time: in total, and in buckets of time. Cannot write.

import type { Database } from 'better-sqlite3'
import { idAt } from '../../core/call.ts'
import type { ProgramCalls, UsageReads } from '../reads.ts'
import { COLUMN_OF, historyOf, TARGET_KEYS, targetsOf } from '../span-answers.ts'
import { openSpanSums } from './span-sums.ts'

export function openUsage(db: Database): UsageReads {
  const sums = openSpanSums(db)
  const programs = db.prepare<object, ProgramCalls>(
    `SELECT client, count(*) AS calls FROM call_logs
       WHERE id >= @from AND id < @to AND (@key IS NULL OR key_name = @key)
       GROUP BY client ORDER BY calls DESC, client`,
  )
  return {
    history: (span, bucketMs, by, keyName) =>
      historyOf(sums.groups(span, keyName, by ? ['@start', COLUMN_OF[by]] : ['@start'], bucketMs), by),
    programs: ({ since, until }, keyName) =>
      programs.all({ from: idAt(since), to: idAt(until), key: keyName ?? null }),
    targets: (span, keyName) => targetsOf(sums.groups(span, keyName, TARGET_KEYS)),
  }
}

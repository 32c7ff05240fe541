// Reads the number of calls on record, their age and their size. Cannot write.
import type { Fill, FillReads, RetentionLimits } from '../reads.ts'
import { deletesFrom } from './retention.ts'

const DAY = 86_400_000

export interface Caps extends RetentionLimits {
  readonly days: number
}

/** A database opened by either library: the gateway's, or that of a command that reads from outside. */
interface Asked {
  prepare(sql: string): { get(): unknown }
}

/**
 * Returns the measured values. The database must have the newest schema. `now`: milliseconds since the epoch.
 */
export function fillOf(db: Asked, caps: Caps, now: number): { calls: number; fills: Fill[] } {
  const number = (sql: string): number => Number(Object.values(db.prepare(sql).get() ?? { none: 0 })[0])
  const calls =
    number('SELECT coalesce(sum(calls), 0) FROM usage_hours') +
    number('SELECT count(*) FROM call_logs WHERE completed_at IS NULL')
  const oldest = number('SELECT created_at FROM call_logs ORDER BY id LIMIT 1')
  const pages = number('PRAGMA page_count') - number('PRAGMA freelist_count')
  return {
    calls,
    fills: [
      { name: 'rows', have: calls, cap: caps.rows },
      {
        name: 'days',
        have: calls === 0 ? 0 : Math.round((100 * (now - oldest)) / DAY) / 100,
        cap: caps.days,
      },
      { name: 'bytes', have: pages * number('PRAGMA page_size'), cap: deletesFrom(caps.bytes) },
    ],
  }
}

export const openFillReads = (db: Asked): FillReads => ({ fill: (caps, now) => fillOf(db, caps, now) })

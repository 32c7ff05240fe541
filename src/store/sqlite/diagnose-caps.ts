// How full the record is, held against the caps of the configuration. Reads a database that a gateway may be writing to.

import type { DatabaseSync } from 'node:sqlite'
import type { RetentionLimits } from '../store.ts'
import type { Finding } from './diagnose.ts'
import { deletesFrom } from './retention.ts'

/** From this part of a cap on it is told that the oldest calls go. */
const NEAR = 0.9
const DAY = 86_400_000
const MIB = 2 ** 20

export interface Caps extends RetentionLimits {
  readonly days: number
}

/** The database must have the newest schema. `now`: milliseconds since the epoch. */
export function capFindings(db: DatabaseSync, caps: Caps, running: boolean, now: number): Finding[] {
  const number = (sql: string): number => Number(Object.values(db.prepare(sql).get() ?? { none: 0 })[0])
  const calls =
    number('SELECT coalesce(sum(calls), 0) FROM usage_hours') +
    number('SELECT count(*) FROM call_logs WHERE completed_at IS NULL')
  const oldest = number('SELECT created_at FROM call_logs ORDER BY id LIMIT 1')
  const pages = number('PRAGMA page_count') - number('PRAGMA freelist_count')

  const fills = [
    { name: 'rows', have: calls, cap: caps.rows, unit: 'calls' },
    { name: 'days', have: calls === 0 ? 0 : (now - oldest) / DAY, cap: caps.days, unit: 'days' },
    {
      name: 'bytes',
      have: (pages * number('PRAGMA page_size')) / MIB,
      cap: deletesFrom(caps.bytes) / MIB,
      unit: 'MiB in use',
    },
  ].map((fill) => ({ ...fill, text: `${short(fill.have)} of ${short(fill.cap)} ${fill.unit}` }))
  const full = fills.filter(({ have, cap }) => have >= cap * NEAR)
  return [
    { verdict: 'ok', text: `on record: ${fills.map(({ text }) => text).join(', ')}` },
    ...full.map(({ name, have, cap, text }): Finding => {
      const setting = `retention.${name}`
      if (have <= cap)
        return {
          verdict: 'note',
          text: `${text}: soon the oldest calls are deleted; raise ${setting} to keep more`,
        }
      return {
        verdict: 'note',
        text: running
          ? `${text}: the oldest calls are being deleted; raise ${setting} to keep more, or restart if it was lowered`
          : `${text}: the next start deletes the oldest calls; raise ${setting} before it to keep them`,
      }
    }),
  ]
}

/** Not more than one digit behind the point. */
const short = (value: number): string => String(Math.round(value * 10) / 10)

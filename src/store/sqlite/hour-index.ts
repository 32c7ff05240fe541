// Finds the hours that may contain rows for a filter. With a filter that matches few or no rows, a list would
// have to scan all rows. The roll-ups show which hours it can skip. Cannot write.

import type { Database } from 'better-sqlite3'
import { timeOfId } from '../../core/call.ts'
import { CALL_FIELDS, type Field } from '../../core/record.ts'
import type { CallFilter } from '../reads.ts'
import { isAside } from '../sql/conditions.ts'
import { HOUR, LABELS } from './roll-ups.ts'

/** A span of time, milliseconds since the epoch. */
interface Hour {
  readonly from: number
  readonly to: number
}

export const ALL_HOURS: Hour = { from: 0, to: 2 ** 48 - 1 }

/** Upper bound that sorts after every id. */
export const AFTER_ALL = 'g'

/** Filter parameters that the roll-ups can distinguish, with their labels. */
const SERIES: Readonly<Record<string, string>> = Object.fromEntries(
  Object.entries<Field>(CALL_FIELDS).flatMap(([column, { filter }]) =>
    filter && (LABELS as readonly string[]).includes(column) ? [[filter, column]] : [],
  ),
)

/**
 * Returns the hours between two ids, newest first, each found on demand. Returns null if the roll-ups cannot
 * tell, or if the rows have an index for the filter.
 */
export function openHourIndex(db: Database) {
  const open = db
    .prepare<[string, string], number>(
      `SELECT DISTINCT created_at / ${HOUR} FROM call_logs INDEXED BY call_logs_open
         WHERE completed_at IS NULL AND id >= ? AND id < ? ORDER BY 1 DESC`,
    )
    .pluck()

  return function hoursOf(filter: CallFilter, from: string, to: string): Iterable<Hour> | null {
    const { session_id, agent_id, client, error_code, state, status, fallbacks } = filter
    if (isAside(filter) || session_id !== undefined || error_code !== undefined || client !== undefined)
      return null
    if (agent_id !== undefined && agent_id !== 'none') return null
    const openHours = open.all(from, to)
    if (state === 'routed' || state === 'streaming') return openHours.map(hourOf)

    const labels = Object.entries(SERIES).filter(([field]) => filter[field as keyof CallFilter] !== undefined)
    const failed = status === 'error' || (state !== undefined && state !== 'completed')
    if (labels.length === 0 && !failed && fallbacks === undefined) return null
    const like = labels.map(([, column]) => `AND ${column} = ?`).join(' ')
    const closed = db
      .prepare<unknown[], number>(
        `SELECT DISTINCT hour FROM usage_hours WHERE hour >= ? AND hour <= ? ${failed ? 'AND failed > 0' : ''}
           ${fallbacks === undefined ? '' : 'AND fell_back > 0'}
           AND series_id IN (SELECT id FROM series WHERE true ${like}) ORDER BY hour DESC`,
      )
      .pluck()
    const values = labels.map(([field]) => filter[field as keyof CallFilter])
    const last = to === AFTER_ALL ? ALL_HOURS.to : timeOfId(to)
    return newestFirst(
      openHours,
      closed.iterate(Math.floor(timeOfId(from) / HOUR), Math.floor(last / HOUR), ...values),
    )
  }
}

/** Merges both lists, each hour once. */
function* newestFirst(open: number[], closed: Iterable<number>): Generator<Hour> {
  for (const hour of closed) {
    while (open.length > 0 && open[0]! >= hour) {
      const next = open.shift()!
      if (next > hour) yield hourOf(next)
    }
    yield hourOf(hour)
  }
  for (const hour of open) yield hourOf(hour)
}

const hourOf = (hour: number): Hour => ({ from: hour * HOUR, to: (hour + 1) * HOUR })

// Parses a time on a command line. Pure.
import { UsageError } from './usage-error.ts'

const UNITS: Readonly<Record<string, number>> = {
  s: 1_000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
  w: 7 * 86_400_000,
}

/** Parses `1h` before `now`, a local date or time, or a moment with its zone. Throws UsageError. */
export function readTime(option: string, text: string | undefined, now: number): Date | undefined {
  if (text === undefined) return undefined
  const [, amount, unit] = /^(\d+(?:\.\d+)?)([smhdw])$/.exec(text) ?? []
  const isDate = /^\d{4}-\d\d-\d\d$/.test(text)
  const isMoment = /^\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:?\d\d)?$/.test(text)
  // Without the time of day, a bare date would be read as midnight UTC.
  const time = amount
    ? new Date(now - Number(amount) * UNITS[unit!]!)
    : new Date(isDate ? `${text}T00:00` : isMoment ? text.replace(' ', 'T') : Number.NaN)
  if (Number.isFinite(time.getTime())) return time
  throw new UsageError(
    `${option} takes a time ago such as 90s, 15m, 1h, 7d or 2w, a date, or a moment such as 2026-11-21T07:00:00Z, not ${JSON.stringify(text)}`,
  )
}

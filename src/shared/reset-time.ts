// Parses the times at which providers allow the next request, in all of their formats. Pure.

const UNITS: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 }
/** Above this number, a bare number is a time in seconds instead of a duration. */
const FIRST_EPOCH_SECOND = 1_000_000_000
/** Above this number, a bare number is a time in milliseconds. */
const FIRST_EPOCH_MS = 100_000_000_000

const NUMBER = /^\d{1,15}(?:\.\d{1,12})?$/
const PART =
  /(\d{1,15}(?:\.\d{1,12})?) ?(ms|milliseconds?|seconds?|secs?|s|minutes?|mins?|m|hours?|hrs?|h|days?|d)(?![a-z])/iy
const BETWEEN = /(?:,? and |, ?| )?(?=\d)/y

/** Returns the milliseconds of a duration such as `6m0s`, `20ms` or `1 minute 5.5 seconds`; null for any other text. */
export function durationIn(text: string): number | null {
  const found = durationAt(text, 0)
  return found?.end === text.length ? found.ms : null
}

/** Returns the duration that begins at a place of a text, and its end; null if none begins there. */
export function durationAt(
  text: string,
  start: number,
): { readonly ms: number; readonly end: number } | null {
  let ms = 0
  let end = start
  for (let at = start; ; ) {
    PART.lastIndex = at
    const part = PART.exec(text)
    if (!part) return end === start ? null : { ms, end }
    ms += Number(part[1]) * UNITS[unitOf(part[2]!.toLowerCase())]!
    end = PART.lastIndex
    BETWEEN.lastIndex = end
    if (!BETWEEN.test(text)) return { ms, end }
    at = BETWEEN.lastIndex
  }
}

const unitOf = (word: string): string => (/^(ms|milli)/.test(word) ? 'ms' : word.charAt(0))

/**
 * Returns the time, ms since the epoch, that a duration, a number of seconds, a Unix time in seconds or milliseconds,
 * or a date names. Returns null for any other text.
 */
export function resetTimeIn(text: string, now: number): number | null {
  if (NUMBER.test(text)) {
    const value = Number(text)
    if (value >= FIRST_EPOCH_MS) return value
    return value >= FIRST_EPOCH_SECOND ? value * 1_000 : now + value * 1_000
  }
  const duration = durationIn(text)
  if (duration !== null) return now + duration
  const at = /\d{4}/.test(text) ? Date.parse(text) : Number.NaN
  return Number.isFinite(at) ? at : null
}

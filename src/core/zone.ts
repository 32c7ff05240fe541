// Days of a time zone, for sums by day. Pure.

const DAY = 86_400_000
/** Formatters by zone; making one takes longer than a thousand uses. */
const formats = new Map<string, Intl.DateTimeFormat>()

/** Returns the offset of a zone from UTC at a time, ms. Throws RangeError for an unknown zone. */
export function offsetOf(timeZone: string, at: number): number {
  let format = formats.get(timeZone)
  if (!format) {
    format = new Intl.DateTimeFormat('en-US', {
      timeZone,
      hourCycle: 'h23',
      ...{ year: 'numeric', month: 'numeric', day: 'numeric' },
      ...{ hour: 'numeric', minute: 'numeric', second: 'numeric' },
    })
    if (formats.size > 1_000) formats.clear()
    formats.set(timeZone, format)
  }
  const parts = new Map(format.formatToParts(at).map(({ type, value }) => [type, Number(value)]))
  const [year, month, day] = [parts.get('year')!, parts.get('month')!, parts.get('day')!]
  const local = Date.UTC(year, month - 1, day, parts.get('hour'), parts.get('minute'), parts.get('second'))
  return local - Math.floor(at / 1_000) * 1_000
}

/** Returns the start of the day in a zone at a time, ms since the epoch. The clock may change during the day. */
export function startOfDay(timeZone: string, at: number): number {
  const midnight = Math.floor((at + offsetOf(timeZone, at)) / DAY) * DAY
  return midnight - offsetOf(timeZone, midnight - offsetOf(timeZone, at))
}

/** Returns true for a zone that this process knows. */
export function isZone(text: string): boolean {
  try {
    offsetOf(text, 0)
    return true
  } catch {
    return false
  }
}

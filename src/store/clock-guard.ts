// What time it is, for deleting what is too old. A clock that is set a year ahead by mistake would delete the whole log
// at once, so one that leaps is believed only when it stays there. Knows no database.

const HOUR = 3_600_000
/** How far the clock may be ahead of what was expected, ms. */
const LEAP_MS = 24 * HOUR
/** How long it is doubted when it is further, ms: faults are put right by then, and a machine that slept can wait. */
export const DOUBT_MS = HOUR

export interface Clock {
  /** Milliseconds since the epoch; may leap. */
  readonly now: () => number
  /** Milliseconds that have really passed since some moment. */
  readonly elapsed: () => number
}

/** Returns what says the time, ms since the epoch. `last` is when something was surely seen to happen, or null. */
export function guardClock({ now, elapsed }: Clock, last: number | null): () => number {
  let believed = last ?? now()
  let since = elapsed()
  let doubtedSince: number | null = null
  return () => {
    const said = now()
    const at = elapsed()
    const expected = believed + (at - since)
    if (said - expected > LEAP_MS) {
      doubtedSince ??= at
      if (at - doubtedSince < DOUBT_MS) return expected
    }
    doubtedSince = null
    believed = said
    since = at
    return said
  }
}

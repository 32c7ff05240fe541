// The clock for deleting old calls. A clock set a year ahead by mistake would delete the whole request log. A
// jump of the clock is therefore accepted only if it lasts. Independent of the database.

const HOUR = 3_600_000
/** Maximum lead over the expected time, ms. */
const LEAP_MS = 24 * HOUR
/**
 * Time for which a larger lead is doubted, ms. Mistakes are corrected by then; after sleep, deletion can
 * wait.
 */
export const DOUBT_MS = HOUR

export interface Clock {
  /** Milliseconds since the epoch; may jump. */
  readonly now: () => number
  /** Milliseconds that have really passed since a fixed moment. */
  readonly elapsed: () => number
}

/** Returns a clock, ms since the epoch. `last`: the time of the last event known to be correct, or null. */
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

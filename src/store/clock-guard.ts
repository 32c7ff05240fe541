// The clock for deleting old calls. A clock set a year ahead by mistake would delete the whole request log. A
// jump of the clock is therefore accepted only if it lasts. Independent of the database.
import { clock } from '../shared/clock.ts'

const HOUR = 3_600_000
/** Maximum lead over the expected time, ms. */
const LEAP_MS = 24 * HOUR
/**
 * Time for which a larger lead is doubted, ms. Mistakes are corrected by then; after sleep, deletion can
 * wait.
 */
export const DOUBT_MS = HOUR

/** Returns a function for ms since the epoch. `last`: the time of the last event known to be correct, or null. */
export function guardClock(last: number | null): () => number {
  let believed = last ?? clock.now()
  let since = clock.monotonic()
  let doubtedSince: number | null = null
  return () => {
    const said = clock.now()
    const at = clock.monotonic()
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

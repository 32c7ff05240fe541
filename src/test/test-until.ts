import assert from 'node:assert/strict'
import { clock, SYSTEM_CLOCK } from '../shared/clock.ts'
import type { ManualClock } from '../shared/test-clock.ts'

/**
 * Waits for what another thread or process does in its own time. Returns the first value that is not falsy. Fails
 * after `ms`: the limit ends a test that hangs, and judges no speed, so it is far longer than on an idle machine. A
 * manual clock advances by 1 ms at each look, because writes wait for others for some milliseconds.
 */
export async function until<T>(what: string, find: () => Promise<T> | T, ms = 30_000): Promise<Truthy<T>> {
  const end = SYSTEM_CLOCK.monotonic() + ms
  for (;;) {
    const found = await find()
    if (found) return found as Truthy<T>
    if (SYSTEM_CLOCK.monotonic() > end) assert.fail(`not within ${ms} ms: ${what}`)
    await pause(10)
    if ('advance' in clock) await (clock as ManualClock).advance(1)
  }
}

/** Lets real time pass, for a test that is about real time or shows that nothing happens. Judges nothing. */
export const pause = (ms: number): Promise<void> =>
  new Promise((resolve) => void SYSTEM_CLOCK.after(ms, resolve))

type Truthy<T> = Exclude<T, null | undefined | false | 0 | ''>

import assert from 'node:assert/strict'
import { setTimeout as sleep } from 'node:timers/promises'

/**
 * Waits for what another thread or process does in its own time. Returns the first value that is not falsy. Fails
 * after `ms`: the limit ends a test that hangs, and judges no speed, so it is far longer than on an idle machine.
 */
export async function until<T>(what: string, find: () => Promise<T> | T, ms = 30_000): Promise<Truthy<T>> {
  const end = performance.now() + ms
  for (;;) {
    const found = await find()
    if (found) return found as Truthy<T>
    if (performance.now() > end) assert.fail(`not within ${ms} ms: ${what}`)
    await sleep(10)
  }
}

type Truthy<T> = Exclude<T, null | undefined | false | 0 | ''>

// Counts the bytes that all open exchanges retain before a client receives them: whole answers in transit, and
// incomplete events. Each exchange has its own limit, but many together could still use all memory.
import { getHeapStatistics } from 'node:v8'
import { type HolderShare, ofGreediest } from '../core/largest-holder.ts'

/** A holder of bytes that can release them. */
export interface Holder {
  /** Name of the call's key. */
  readonly keyName: string | null
  /** Ends the exchange and releases its bytes. */
  letGo(reason: Error): void
}

/**
 * Bytes below which an exchange is not counted. Nearly all answers are smaller, and thousands of them use
 * little memory.
 */
export const UNCOUNTED_BYTES = 2 ** 18

interface Held extends HolderShare {
  readonly holder: Holder
}

export class HeldBytes {
  readonly #limit: number
  readonly #held = new Map<Holder, Held>()
  #total = 0

  constructor(limit: number) {
    this.#limit = limit
  }

  /**
   * Sets the number of bytes that a holder retains; 0 when its exchange is over. If the sum is too large, ends the
   * largest holder of the key that holds the most.
   */
  set(holder: Holder, bytes: number): void {
    const { keyName } = holder
    this.#total += bytes - (this.#held.get(holder)?.bytes ?? 0)
    if (bytes === 0) this.#held.delete(holder)
    else this.#held.set(holder, { holder, keyName, bytes })
    while (this.#total > this.#limit) {
      const largest = ofGreediest(this.#held.values()).reduce((most, each) =>
        each.bytes > most.bytes ? each : most,
      ).holder
      this.set(largest, 0)
      largest.letGo(new Error('the answers in transit take up more memory than is allowed'))
    }
  }
}

/**
 * Returns the limit of this process: a quarter of its heap, and at least enough for the largest possible
 * answer.
 */
export const heldFor = (largest: number): HeldBytes =>
  new HeldBytes(Math.max(getHeapStatistics().heap_size_limit / 4, largest))

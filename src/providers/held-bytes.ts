// Counts the bytes that all open exchanges retain of answers that no client has received yet: whole answers
// in transit, and incomplete events. Each has its own limit, but many together could still take all memory.
import { getHeapStatistics } from 'node:v8'
import { type HolderShare, ofGreediest } from '../core/largest-holder.ts'

/** A holder of bytes that can release them. */
export interface Holder {
  /** Key of the call. */
  readonly keyName: string | null
  /** Ends the exchange; its bytes no longer count. */
  letGo(reason: Error): void
}

/** Bytes below which an exchange is not counted: nearly all answers, and thousands of them take little. */
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
   * Sets the bytes that a holder retains; 0 when it is over. If the sum is too large, the largest holder of
   * the key that holds most is ended.
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

/** Returns the limit of this process: a quarter of its heap, and room for the largest possible answer. */
export const heldFor = (largest: number): HeldBytes =>
  new HeldBytes(Math.max(getHeapStatistics().heap_size_limit / 4, largest))

// The bytes that all open exchanges hold of answers that no client has received yet: whole answers in transit, and events
// that are not complete. Each has its own limit, but many together could still take all memory.
import { getHeapStatistics } from 'node:v8'

/** A holder of bytes that can let go of them. */
export interface Holder {
  /** Ends the exchange, whose bytes are counted no more. */
  letGo(reason: Error): void
}

/** Below this an exchange is not counted, bytes: nearly all answers are smaller, and thousands of them are little. */
export const UNCOUNTED = 2 ** 18

export class HeldBytes {
  readonly #limit: number
  readonly #held = new Map<Holder, number>()
  #total = 0

  constructor(limit: number) {
    this.#limit = limit
  }

  /** So many bytes are held by now; 0 when it is over. Where that is too much together, the largest lets go. */
  set(holder: Holder, bytes: number): void {
    this.#total += bytes - (this.#held.get(holder) ?? 0)
    if (bytes === 0) this.#held.delete(holder)
    else this.#held.set(holder, bytes)
    while (this.#total > this.#limit) {
      const [largest] = [...this.#held].reduce((most, each) => (each[1] > most[1] ? each : most))
      this.set(largest, 0)
      largest.letGo(new Error('the answers in transit take up more memory than is allowed'))
    }
  }
}

/** Of this process: a quarter of its heap, and room for the largest answer that there may be. */
export const heldFor = (largest: number): HeldBytes =>
  new HeldBytes(Math.max(getHeapStatistics().heap_size_limit / 4, largest))

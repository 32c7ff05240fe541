// Serializes interleaved blocks to one open block at a time, with indexes 0, 1, 2 …. Events of the open block
// are passed on immediately. Events of all other blocks wait until it closes. Independent of the particular
// dialects.
import type { BlockEvent, Opened, SerialEvent } from './blocks.ts'

type Key = string | number

/** Maximum waiting text, in characters. No real answer reaches this size. */
const MAX_WAITING_LENGTH = 16 * 2 ** 20

export class Sequence {
  #index = 0
  #open: { readonly key: Key; readonly block: Opened } | null = null
  /** Waiting blocks in their opening order, each with its events so far. */
  readonly #waiting = new Map<Key, BlockEvent[]>()
  #waitingSize = 0
  #wholes = 0

  /**
   * Returns the events to pass on now. Throws if the waiting text is too long or an event belongs to no open
   * block.
   */
  push(event: BlockEvent): SerialEvent[] {
    const out: SerialEvent[] = []
    if (event.type === 'whole') this.#wait(`whole ${this.#wholes++}`, event)
    else if (this.#open?.key === event.key) this.#pass(event, out)
    else this.#wait(event.key, event)
    this.#next(out)
    return out
  }

  /** Closes the open block and passes on all waiting events. */
  end(): SerialEvent[] {
    const out: SerialEvent[] = []
    for (;;) {
      if (this.#open) this.#pass({ type: 'close', key: this.#open.key }, out)
      if (this.#waiting.size === 0) return out
      this.#next(out)
    }
  }

  #wait(key: Key, event: BlockEvent): void {
    const events = this.#waiting.get(key)
    if (events) events.push(event)
    else if (event.type === 'open' || event.type === 'whole') this.#waiting.set(key, [event])
    else throw new Error('a part of a block that is not open')
    if (event.type === 'delta') this.#waitingSize += event.text.length
    if (this.#waitingSize > MAX_WAITING_LENGTH) throw new Error('too many blocks at once')
  }

  /** Passes on waiting blocks until one of them is open. */
  #next(out: SerialEvent[]): void {
    for (const [key, events] of this.#waiting) {
      if (this.#open) return
      this.#waiting.delete(key)
      for (const event of events) {
        if (event.type === 'delta') this.#waitingSize -= event.text.length
        this.#pass(event, out)
      }
    }
  }

  #pass(event: BlockEvent, out: SerialEvent[]): void {
    const index = this.#index
    if (event.type === 'whole') {
      out.push({ type: 'whole', index, block: event.block })
      this.#index++
    } else if (event.type === 'open') {
      this.#open = event
      out.push({ type: 'open', index, block: event.block })
    } else if (event.type === 'delta') {
      if (event.text !== '') out.push({ type: 'delta', index, block: this.#open!.block, text: event.text })
    } else if (event.type === 'seal') out.push({ type: 'seal', index, opaque: event.opaque })
    else {
      out.push({ type: 'close', index, block: this.#open!.block })
      this.#open = null
      this.#index++
    }
  }
}

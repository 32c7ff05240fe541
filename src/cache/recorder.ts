// Collects a stream as it passes, to be replayed from the cache. Gives up if it is too large or out of order.
import { EMPTY_EVENT, type ParsedEvent, type Tokens } from '../core/call.ts'
import type { Loss } from '../core/losses.ts'

/** Bytes left for all streams that are being collected. */
export interface Room {
  left: number
}

export class Recorder {
  readonly #max: number
  readonly #room: Room
  #size = 0
  #runs: { events: Buffer[]; usageOnly: boolean }[] = []
  #finished = false
  #spoilt = false

  /** `max`: size in bytes of the largest answer worth caching. `room` is shared with the other streams. */
  constructor(max: number, room: Room) {
    this.#max = max
    this.#room = room
  }

  /** Adds one event, or comments, which carry no data. */
  add(bytes: Buffer, parsed: ParsedEvent | null): void {
    const { finished, unusual, error, usageOnly } = parsed ?? EMPTY_EVENT
    if (this.#spoilt) return
    this.#size += bytes.length
    this.#room.left -= bytes.length
    this.#finished ||= finished
    if (unusual || error !== null || this.#size > this.#max || this.#room.left < 0) this.close()
    else if (this.#runs.at(-1)?.usageOnly === usageOnly) this.#runs.at(-1)!.events.push(bytes)
    else this.#runs.push({ events: [bytes], usageOnly })
  }

  /** Returns the stream in few parts, copied out of the network buffers; null if it cannot be replayed. */
  parts(): CachedAnswer['parts'] | null {
    if (this.#spoilt || !this.#finished) return null
    return this.#runs.map(({ events, usageOnly }) => ({ bytes: Buffer.concat(events), usageOnly }))
  }

  /** Releases what was collected. */
  close(): void {
    if (!this.#spoilt) this.#room.left += this.#size
    this.#spoilt = true
    this.#runs = []
  }
}

/** A complete answer, byte for byte. */
export interface CachedAnswer {
  /** The provider's content type; absent if it sent none. */
  readonly contentType: string | undefined
  /** In order. Parts that hold only usage are marked, because not every client wants them. */
  readonly parts: readonly { readonly bytes: Buffer; readonly usageOnly: boolean }[]
  readonly model: string | null
  readonly tokens: Tokens | null
  /** Losses of its translation. */
  readonly losses: readonly Loss[]
}

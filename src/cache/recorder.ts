// Collects a passing stream, so that the cache can replay it. Gives up if the stream is too large or out of
// order.
import { EMPTY_EVENT, type ParsedEvent, type Tokens } from '../core/call.ts'
import type { Loss } from '../core/losses.ts'
import { BytePieces } from '../shared/byte-pieces.ts'

/** Bytes left for all collected streams together. */
interface Room {
  left: number
}

export class Recorder {
  readonly #max: number
  readonly #room: Room
  #size = 0
  #runs: { events: BytePieces; usageOnly: boolean }[] = []
  #finished = false
  #spoilt = false

  /** `max`: maximum size of a cached answer, in bytes. `room`: shared by all streams. */
  constructor(max: number, room: Room) {
    this.#max = max
    this.#room = room
  }

  /** Adds an event, or comments, which contain no data. */
  add(bytes: Buffer, parsed: ParsedEvent | null): void {
    const { finished, unusual, error, usageOnly } = parsed ?? EMPTY_EVENT
    if (this.#spoilt) return
    this.#size += bytes.length
    this.#room.left -= bytes.length
    this.#finished ||= finished
    if (unusual || error !== null || this.#size > this.#max || this.#room.left < 0) this.close()
    else if (this.#runs.at(-1)?.usageOnly === usageOnly) this.#runs.at(-1)!.events.add(bytes)
    else {
      const events = new BytePieces()
      events.add(bytes)
      this.#runs.push({ events, usageOnly })
    }
  }

  /** Returns the stream in a few parts, copied from the network buffers; null if it cannot be replayed. */
  parts(): CachedAnswer['parts'] | null {
    if (this.#spoilt || !this.#finished) return null
    return this.#runs.map(({ events, usageOnly }) => ({ bytes: events.copied(), usageOnly }))
  }

  /** Releases the collected bytes. */
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
  /**
   * Parts of the answer, in order. Parts that contain only usage are marked, because some clients do not want them.
   */
  readonly parts: readonly { readonly bytes: Buffer; readonly usageOnly: boolean }[]
  readonly model: string | null
  readonly tokens: Tokens | null
  /** Losses in the translation of the answer. */
  readonly losses: readonly Loss[]
  /** Members that its request had under another name. */
  readonly renamed: readonly string[]
}

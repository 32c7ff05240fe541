// An exact response cache, in memory and bounded in bytes. An entry belongs to a gateway key, a request, a
// target and a form (streamed or whole). An entry is never converted to the other form. Independent of HTTP.

import { hash } from 'node:crypto'
import { LRUCache } from 'lru-cache'
import type { Config, RouteConfig } from '../config/load.ts'
import { EMPTY_EVENT, type ParsedEvent, type Target, type Tokens, targetId } from '../core/call.ts'
import type { Loss } from '../core/losses.ts'
import { BytePieces } from '../shared/byte-pieces.ts'

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

/** Fields that identify equal requests. */
interface CacheableRequest {
  readonly endpoint: string
  readonly keyName: string | null
  /**
   * Model name in the answer. Part of the key, because a reload may change the name but does not empty the cache.
   */
  readonly answerModel: RouteConfig['answer_model']
  /**
   * Canonical text of the body, the same for equivalent bodies, streamed or not. Null if the body has none.
   */
  readonly identity: string | null
  readonly stream: boolean
}

export interface ResponseCache {
  /** Returns the cache key of a request; null if it has no canonical text, see `canonical`. */
  name(request: CacheableRequest): string | null
  get(name: string, target: Target): CachedAnswer | undefined
  /** Stores an answer, unless it exceeds a sixteenth of the cache. */
  set(name: string, target: Target, answer: CachedAnswer): void
  /** Returns a recorder for one stream. The caller must close it at the end of the stream. */
  recorder(): Recorder
}

/** Approximate size of an entry without its body, in bytes. */
const ENTRY_OVERHEAD_BYTES = 1_024

/** `now`: milliseconds since the epoch. */
export function createResponseCache({ ttl, max_bytes }: Config['cache'], now: () => number): ResponseCache {
  const maxAnswer = Math.max(1, Math.floor(max_bytes / 16))
  const entries = new LRUCache<string, CachedAnswer>({
    maxSize: Math.max(1, Math.floor(max_bytes)),
    maxEntrySize: maxAnswer + ENTRY_OVERHEAD_BYTES,
    sizeCalculation: ({ parts }) =>
      parts.reduce((sum, { bytes }) => sum + bytes.length, ENTRY_OVERHEAD_BYTES),
    ttl: Math.round(ttl),
    perf: { now },
    ttlResolution: 0,
  })
  // Includes the changes that the target makes to requests, because a reload may change them but does not empty the
  // cache.
  const keyOf = (name: string, target: Target) =>
    `${name} ${targetId(target)}${target.changes ? ` ${JSON.stringify(target.changes)}` : ''}`

  const room = { left: max_bytes }

  return {
    recorder: () => new Recorder(maxAnswer, room),
    name({ endpoint, keyName, answerModel, identity, stream }) {
      if (identity === null) return null
      return hash('sha256', JSON.stringify([endpoint, keyName, answerModel, stream, identity]))
    },
    get: (name, target) => entries.get(keyOf(name, target)),
    set: (name, target, answer) => void entries.set(keyOf(name, target), answer),
  }
}

/** Bytes left for all collected streams together. */
interface Room {
  left: number
}

/** Collects a passing stream, so that the cache can replay it. Gives up if the stream is too large or out of order. */
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

// An exact response cache, in memory and bounded in bytes. An entry belongs to a gateway key, a request, a
// target and a form (streamed or whole). An entry is never converted to the other form. Independent of HTTP.

import { hash } from 'node:crypto'
import { LRUCache } from 'lru-cache'
import type { Config, RouteConfig } from '../config/load.ts'
import { type Target, targetId } from '../core/call.ts'
import { type CachedAnswer, Recorder } from './recorder.ts'

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

// An exact response cache: in memory, bounded in bytes. An entry belongs to a gateway key, a request, a
// target and a form (streamed or whole); it is never converted from one form to the other. Knows no HTTP.

import { hash } from 'node:crypto'
import { LRUCache } from 'lru-cache'
import type { Config, RouteConfig } from '../config/load.ts'
import { type Target, targetId } from '../core/call.ts'
import type { CachedAnswer } from './recorder.ts'
import { Recorder } from './recorder.ts'

/** Fields that make two requests the same. */
export interface CacheableRequest {
  readonly endpoint: string
  readonly keyName: string | null
  /** Model name in the answer; part of the key because a reload may change it while the cache stays. */
  readonly answerModel: RouteConfig['answer_model']
  /** Equal for bodies that mean the same, streamed or not; null if the body has no canonical text. */
  readonly identity: string | null
  readonly stream: boolean
}

export interface ResponseCache {
  /** Returns the cache key of a request; null if it has no canonical text, see `canonical`. */
  name(request: CacheableRequest): string | null
  get(name: string, target: Target): CachedAnswer | undefined
  /** Stores an answer, unless it is larger than a sixteenth of the cache. */
  set(name: string, target: Target, answer: CachedAnswer): void
  /** Returns a recorder for one stream. Close it when the stream is over. */
  recorder(): Recorder
}

/** Approximate size of an entry in addition to its body, bytes. */
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
  // A reload may change what a target does to its requests, while the cache stays.
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

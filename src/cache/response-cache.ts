// Answers that may be given again: in memory, bounded in bytes, exact. An entry belongs to a gateway key, a request,
// a target and a form (streamed or whole); it is never turned from one form into the other. Knows no HTTP.
import { hash } from 'node:crypto'
import { LRUCache } from 'lru-cache'
import { type Target, type Tokens, targetId } from '../call.ts'
import type { Config, RouteConfig } from '../config.ts'
import type { Loss } from '../losses.ts'

/** A complete answer, byte for byte. */
export interface CachedAnswer {
  /** As the provider said it; absent where it said none. */
  readonly contentType: string | undefined
  /** In order; those that hold nothing but usage are apart, because not every client wants them. */
  readonly parts: readonly { readonly bytes: Buffer; readonly usageOnly: boolean }[]
  readonly model: string | null
  readonly tokens: Tokens | null
  /** What its translation lost. */
  readonly losses: readonly Loss[]
}

/** What makes two requests the same. */
export interface CacheableRequest {
  readonly endpoint: string
  readonly keyName: string | null
  /** What the answer is to name as its model; a route may change its mind while the cache stays. */
  readonly answerModel: RouteConfig['answer_model']
  /** Equal for bodies that mean the same, whether or not they are streamed; null for one that has no such text. */
  readonly identity: string | null
  readonly stream: boolean
}

export interface ResponseCache {
  /** What a request is known by; null for one that has no exact name, see `canonical`. */
  name(request: CacheableRequest): string | null
  get(name: string, target: Target): CachedAnswer | undefined
  /** Keeps an answer, unless it is larger than `maxAnswer`. */
  set(name: string, target: Target, answer: CachedAnswer): void
  /** The largest answer that is kept, bytes. */
  readonly maxAnswer: number
}

/** What an entry takes beside its bytes, roughly. */
const OVERHEAD = 1_024

/** `now`: milliseconds since the epoch. */
export function createResponseCache({ ttl, max_bytes }: Config['cache'], now: () => number): ResponseCache {
  const maxAnswer = Math.max(1, Math.floor(max_bytes / 16))
  const entries = new LRUCache<string, CachedAnswer>({
    maxSize: Math.max(1, Math.floor(max_bytes)),
    maxEntrySize: maxAnswer + OVERHEAD,
    sizeCalculation: ({ parts }) => parts.reduce((sum, { bytes }) => sum + bytes.length, OVERHEAD),
    ttl: Math.round(ttl),
    perf: { now },
    ttlResolution: 0,
  })
  const keyOf = (name: string, target: Target) => `${name} ${targetId(target)}`

  return {
    maxAnswer,
    name({ endpoint, keyName, answerModel, identity, stream }) {
      if (identity === null) return null
      return hash('sha256', JSON.stringify([endpoint, keyName, answerModel, stream, identity]))
    },
    get: (name, target) => entries.get(keyOf(name, target)),
    set: (name, target, answer) => void entries.set(keyOf(name, target), answer),
  }
}

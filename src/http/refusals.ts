// Calls that were refused before they had a record. Operators need to see them, but they must not displace
// records. Stores the newest of each key in memory. Calls without a known key are separate, and displace only
// each other.
import type { ErrorCode } from '../core/errors.ts'

export interface Refusal {
  readonly id: string
  /** Milliseconds since the epoch. */
  readonly createdAt: number
  /** Null if no key was accepted or none is configured. */
  readonly keyName: string | null
  readonly endpoint: string
  readonly status: number
  readonly code: ErrorCode
  /** Message that the client received. */
  readonly message: string
}

/** Maximum refusals of each key, and of all unknown callers together. */
const MAX_REFUSALS = 100
/** Maximum characters of a message, which may quote the client. */
const MAX_MESSAGE_LENGTH = 500

export interface Refusals {
  /** Adds a refusal. `known`: true if the caller was authenticated. */
  add(refusal: Refusal, known: boolean): void
  /** Refusals of one key or of all, newest first. */
  list(keyName: string | undefined, limit: number): Refusal[]
}

export function createRefusals(): Refusals {
  const rings = new Map<string, { readonly n: number; readonly refusal: Refusal }[]>()
  let count = 0
  const nameOf = (keyName: string | null) => `key ${keyName ?? ''}`
  return {
    add(refusal, known) {
      const name = known ? nameOf(refusal.keyName) : 'strangers'
      const ring = rings.get(name) ?? []
      rings.set(name, ring)
      ring.push({
        n: count++,
        refusal: { ...refusal, message: refusal.message.slice(0, MAX_MESSAGE_LENGTH) },
      })
      if (ring.length > MAX_REFUSALS) ring.shift()
    },
    list(keyName, limit) {
      const found = keyName === undefined ? [...rings.values()].flat() : (rings.get(nameOf(keyName)) ?? [])
      return found
        .toSorted((a, b) => b.n - a.n)
        .slice(0, limit)
        .map(({ refusal }) => refusal)
    },
  }
}

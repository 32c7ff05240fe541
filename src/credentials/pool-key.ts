// One of several keys: the limits that its provider has reported in the headers of an answer, and whether it may be used now.
// This state survives a replacement of the configuration.

import type { IncomingHttpHeaders } from 'node:http'
import { recent } from '../shared/recent.ts'
import { resetTimeIn } from '../shared/reset-time.ts'

/** Reason why a key is temporarily not used. */
export type Rest = 'limit' | 'denied' | 'spent'

/** Time for which a key rests if the provider reports no duration, ms. */
const REST_MS: Readonly<Record<Rest, number>> = { limit: 30_000, denied: 300_000, spent: 600_000 }

/** A limit as reported by the newest answer. */
interface Report extends Remaining {
  /** Sequence number of the answered request, and the number of older requests that were then open. */
  readonly n: number
  readonly older: number
}

export class PoolKey {
  readonly name: string
  #sent = 0
  readonly #open = new Set<number>()
  #requests: Report | null = null
  #tokens: Report | null = null
  /** Maximum number of tokens that a request has used. */
  #tokensEach = 0
  #restsUntil = 0
  #text: string | null = null

  constructor(name: string) {
    this.name = name
  }

  /** Number of requests without an answer. */
  get open(): number {
    return this.#open.size
  }

  /**
   * Returns the time from which the key may be used, ms since the epoch. A time of `now` or earlier means
   * immediately.
   */
  readyAt(now: number): number {
    const limits = [this.#wait(this.#requests, 1, now), this.#wait(this.#tokens, this.#tokensEach, now)]
    return Math.max(this.#restsUntil, ...limits)
  }

  /** Notes the text of the key. After a rotation, it is another key, without a rest and without known limits. */
  is(text: string): void {
    if (this.#text !== null && this.#text !== text) {
      this.#restsUntil = 0
      this.#requests = this.#tokens = null
    }
    this.#text = text
  }

  /** Returns the remaining number of requests; infinite if unknown. */
  room(now: number): number {
    return this.#requests && this.#requests.resetsAt > now
      ? this.#left(this.#requests, 1)
      : Number.POSITIVE_INFINITY
  }

  /** Counts a request; returns its number. */
  send(): number {
    this.#open.add(++this.#sent)
    return this.#sent
  }

  /**
   * Updates the limits from an answer to a request with the key `text`; `headers` are null without an answer. Returns
   * false if the key has another text by now, which the answer does not concern.
   */
  answered(n: number, text: string | null, headers: IncomingHttpHeaders | null, now: number): boolean {
    this.#open.delete(n)
    if (text !== this.#text) return false
    if (!headers) return true
    const { requests, tokens } = rateLimitsIn(headers, now)
    const older = [...this.#open].filter((each) => each < n).length
    // An answer to an earlier request is out of date.
    if (requests && n >= (this.#requests?.n ?? 0)) this.#requests = { ...requests, n, older }
    if (tokens && n >= (this.#tokens?.n ?? 0)) {
      const before = this.#tokens
      if (before && before.resetsAt > now && before.left > tokens.left)
        this.#tokensEach = Math.max(this.#tokensEach, (before.left - tokens.left) / Math.max(n - before.n, 1))
      this.#tokens = { ...tokens, n, older }
    }
    return true
  }

  rest(reason: Rest, ms: number | null, now: number): void {
    this.#restsUntil = Math.max(this.#restsUntil, now + (ms ?? REST_MS[reason]))
  }

  #wait(report: Report | null, each: number, now: number): number {
    if (!report || report.resetsAt <= now) return 0
    return this.#left(report, each) >= Math.max(each, 1) ? 0 : report.resetsAt
  }

  /** Returns the remaining capacity after the requests that the report does not include. */
  #left({ left, n, older }: Report, each: number): number {
    return left - (this.#sent - n + older) * each
  }
}

/** Maximum number of sessions whose key is remembered. */
const MAX_SESSIONS = 10_000

/** The state of each key of a provider, and the key of each session. */
export class PoolState {
  readonly #keys = new Map<string, PoolKey>()
  /** Name of each session's key. */
  readonly sessions = recent<string>(MAX_SESSIONS)

  key(name: string): PoolKey {
    const known = this.#keys.get(name) ?? new PoolKey(name)
    this.#keys.set(name, known)
    return known
  }
}

/** The state of all providers' keys. */
export class CredentialMemory {
  readonly #pools = new Map<string, PoolState>()

  /** Returns the state of a provider's keys. */
  pool(provider: string): PoolState {
    const known = this.#pools.get(provider) ?? new PoolState()
    this.#pools.set(provider, known)
    return known
  }
}

/** Remaining capacity of one limit, and the time of its reset, ms since the epoch. */
interface Remaining {
  readonly left: number
  readonly resetsAt: number
}

interface RateLimits {
  readonly requests: Remaining | null
  readonly tokens: Remaining | null
}

/** Validity of a limit if the provider does not report its reset, ms. */
const UNKNOWN_RESET_MS = 60_000

/** Maximum time to a reset, ms. A provider that reports a later one may mean another unit. */
const MAX_RESET_MS = 86_400_000

/** Header names for the remaining capacity, each with the header for its reset. */
const REQUESTS = [
  ['x-ratelimit-remaining-requests', 'x-ratelimit-reset-requests'],
  ['anthropic-ratelimit-requests-remaining', 'anthropic-ratelimit-requests-reset'],
] as const
const TOKENS = [
  ['x-ratelimit-remaining-tokens', 'x-ratelimit-reset-tokens'],
  ['anthropic-ratelimit-tokens-remaining', 'anthropic-ratelimit-tokens-reset'],
  ['anthropic-ratelimit-input-tokens-remaining', 'anthropic-ratelimit-input-tokens-reset'],
  ['anthropic-ratelimit-output-tokens-remaining', 'anthropic-ratelimit-output-tokens-reset'],
] as const

/** Reads the limits under any of their names. */
const rateLimitsIn = (headers: IncomingHttpHeaders, now: number): RateLimits => ({
  requests: least(REQUESTS, headers, now),
  tokens: least(TOKENS, headers, now),
})

/** Returns the limit with the least remaining capacity; null if there is none. */
function least(
  names: readonly (readonly [string, string])[],
  headers: IncomingHttpHeaders,
  now: number,
): Remaining | null {
  const all = names.flatMap(([remaining, reset]): Remaining[] => {
    const text = headers[remaining]
    const left = typeof text === 'string' && /^\d{1,15}$/.test(text) ? Number(text) : null
    if (left === null) return []
    const resetsAt = resetTimeIn(String(headers[reset] ?? ''), now) ?? now + UNKNOWN_RESET_MS
    return [{ left, resetsAt: Math.min(resetsAt, now + MAX_RESET_MS) }]
  })
  return all.toSorted((a, b) => a.left - b.left)[0] ?? null
}

// One key of several: what its provider has reported about its limits, and whether it may be used now.
import type { IncomingHttpHeaders } from 'node:http'
import { LRUCache } from 'lru-cache'
import { type Remaining, rateLimitsIn } from './rate-limits.ts'

/** Reason why a key is not used for a while. */
export type Rest = 'limit' | 'denied' | 'spent'

/** Times for which a key rests if the provider does not say how long, ms. */
const REST_MS: Readonly<Record<Rest, number>> = { limit: 30_000, denied: 300_000, spent: 600_000 }

/** A limit as the newest answer reported it. */
interface Report extends Remaining {
  /** Number of the request that it answered, and number of older requests that were open when it came. */
  readonly n: number
  readonly older: number
}

export class PoolKey {
  readonly name: string
  #sent = 0
  readonly #open = new Set<number>()
  #requests: Report | null = null
  #tokens: Report | null = null
  /** Most tokens that a request has used. */
  #tokensEach = 0
  #restsUntil = 0

  constructor(name: string) {
    this.name = name
  }

  /** Requests without an answer. */
  get open(): number {
    return this.#open.size
  }

  /** Returns when it may be used, in ms since the epoch; `now` or earlier: at once. */
  readyAt(now: number): number {
    const limits = [this.#wait(this.#requests, 1, now), this.#wait(this.#tokens, this.#tokensEach, now)]
    return Math.max(this.#restsUntil, ...limits)
  }

  /** Returns what is left of its requests; infinite if that is not known. */
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

  /** Takes up what an answer says; `headers` are null if there was none. */
  answered(n: number, headers: IncomingHttpHeaders | null, now: number): void {
    this.#open.delete(n)
    if (!headers) return
    const { requests, tokens } = rateLimitsIn(headers, now)
    const older = [...this.#open].filter((each) => each < n).length
    // An answer to an earlier request knows less.
    if (requests && n >= (this.#requests?.n ?? 0)) this.#requests = { ...requests, n, older }
    if (tokens && n >= (this.#tokens?.n ?? 0)) {
      const before = this.#tokens
      if (before && before.resetsAt > now && before.left > tokens.left)
        this.#tokensEach = Math.max(this.#tokensEach, (before.left - tokens.left) / Math.max(n - before.n, 1))
      this.#tokens = { ...tokens, n, older }
    }
  }

  rest(reason: Rest, ms: number | null, now: number): void {
    this.#restsUntil = Math.max(this.#restsUntil, now + (ms ?? REST_MS[reason]))
  }

  #wait(report: Report | null, each: number, now: number): number {
    if (!report || report.resetsAt <= now) return 0
    return this.#left(report, each) >= Math.max(each, 1) ? 0 : report.resetsAt
  }

  /** Returns what is left after the requests that the report does not include. */
  #left({ left, n, older }: Report, each: number): number {
    return left - (this.#sent - n + older) * each
  }
}

/** Maximum sessions whose key is remembered. */
const MAX_SESSIONS = 10_000

/** What outlasts a configuration: how each key stands, and which session has which. */
export class PoolState {
  readonly #keys = new Map<string, PoolKey>()
  /** Session -> name of its key. */
  readonly sessions = new LRUCache<string, string>({ max: MAX_SESSIONS })

  key(name: string): PoolKey {
    const known = this.#keys.get(name) ?? new PoolKey(name)
    this.#keys.set(name, known)
    return known
  }
}

// Several keys for one provider. A session stays with its key, because its prompt cache and sealed reasoning
// may belong to the key's account. A session moves only if its key cannot be used. Limits are read from the
// headers of every answer, so that a key is no longer used before the provider refuses it. What is known of the keys survives
// a replacement of the configuration.

import type { IncomingHttpHeaders } from 'node:http'
import { recent } from '../shared/memory.ts'
import { createKeySearch } from '../shared/redact.ts'
import { resetTimeIn } from '../shared/reset-time.ts'
import {
  type Credential,
  type CredentialAnswer,
  CredentialError,
  type Credentials,
  type CredentialUse,
} from './credentials.ts'
import type { KeySource } from './key-source.ts'

interface PoolOptions {
  readonly provider: string
  readonly sources: ReadonlyMap<string, KeySource>
  readonly state: PoolState
  /** Called with each key when it is read, so that it can be masked. */
  readonly learn: (secret: string) => void
  readonly now: () => number
}

interface Member {
  readonly standing: PoolKey
  readonly source: KeySource
  search: { readonly key: string; readonly holds: (bytes: Buffer) => boolean } | null
}

interface Choice {
  readonly member: Member
  /** True if the session had a different key. */
  readonly moved: boolean
  /** Sequence number of the request among the key's requests. */
  readonly n: number
}

/** Makes the credentials of a provider with several keys. */
export const keyPool = (options: PoolOptions): Credentials => new KeyPool(options)

class KeyPool implements Credentials {
  readonly areCallers = false
  readonly #options: PoolOptions
  readonly #members: readonly Member[]
  /** Number of the last choice, used to take turns among equal keys. */
  #turn = 0

  constructor(options: PoolOptions) {
    this.#options = options
    this.#members = [...options.sources].map(([name, source]) => ({
      standing: options.state.key(name),
      source,
      search: null,
    }))
  }

  take(use: CredentialUse): Credential | Promise<Credential> {
    const choice = this.#choose(use)
    try {
      const key = choice.member.source.get()
      if (typeof key === 'string') return this.#credential(choice, key, use)
      return key.then(
        (key) => this.#credential(choice, key, use),
        (error) => this.#withoutKey(choice, error, use),
      )
    } catch (error) {
      return this.#withoutKey(choice, error, use)
    }
  }

  holdsSecret(bytes: Buffer): boolean {
    return this.#members.some(({ search }) => search?.holds(bytes))
  }

  /** Returns the key for an attempt, and counts the attempt as an open request. Throws if no key can be used. */
  #choose({ session, tried }: CredentialUse): Choice {
    const { state, provider, now } = this.#options
    const before = session === null ? undefined : state.sessions.get(session)
    const at = now()
    for (const { standing, source } of this.#members) {
      const key = standing.readyAt(at) > at ? source.present() : null
      if (key !== null) standing.is(key) // which ends the rest if it is another one
    }
    const usable = this.#members.filter(
      ({ standing }) => !tried.has(standing.name) && standing.readyAt(at) <= at,
    )
    const own = usable.find(({ standing }) => standing.name === before)
    if (own) return { member: own, moved: false, n: own.standing.send() }
    if (usable.length === 0) throw exhausted(provider, this.#earliest(at) - at)
    const from = this.#turn++ % usable.length
    const member = [...usable.slice(from), ...usable.slice(0, from)].reduce((best, each) =>
      compare(each.standing, best.standing, at) > 0 ? each : best,
    )
    const isKnown = this.#members.some(({ standing }) => standing.name === before)
    return { member, moved: isKnown, n: member.standing.send() }
  }

  #credential({ member, moved, n }: Choice, key: string, use: CredentialUse): Credential {
    const { state, learn } = this.#options
    const { name } = member.standing
    if (member.search?.key !== key) {
      member.search = { key, holds: createKeySearch(key) }
      learn(key)
    }
    member.standing.is(key)
    if (use.session !== null) state.sessions.set(use.session, name)
    return { key, name, moved, settled: (answer) => this.#settled(member, n, key, answer, use) }
  }

  #settled(
    { standing, source }: Member,
    n: number,
    key: string,
    answer: CredentialAnswer | null,
    { tried }: CredentialUse,
  ): ReturnType<NonNullable<Credential['settled']>> {
    const at = this.#options.now()
    const isPresent = standing.answered(n, key, answer?.headers ?? null, at)
    const reason = answer && restFor(answer)
    if (!reason) return null
    // A renewed key may be valid again immediately.
    if (reason === 'denied') source.refused(key)
    if (isPresent) standing.rest(reason, answer.retryAfterMs, at)
    const isAnother = this.#members.some(
      (each) => !tried.has(each.standing.name) && each.standing.readyAt(at) <= at,
    )
    return isAnother ? 'another' : { waitMs: Math.max(this.#earliest(at) - at, 0) }
  }

  /** Tries another key if one cannot be read. */
  #withoutKey({ member: { standing }, n }: Choice, error: unknown, use: CredentialUse) {
    if (!(error instanceof CredentialError)) throw error
    const at = this.#options.now()
    standing.answered(n, null, null, at)
    standing.rest('limit', null, at)
    if (this.#earliest(at) > at) throw error
    return this.take(use)
  }

  #earliest(at: number): number {
    return Math.min(...this.#members.map(({ standing }) => standing.readyAt(at)))
  }
}

/**
 * Returns a positive number if `a` has more remaining capacity or, for equal capacity, fewer open requests.
 */
function compare(a: PoolKey, b: PoolKey, now: number): number {
  const [roomA, roomB] = [a.room(now), b.room(now)]
  return roomA === roomB ? b.open - a.open : roomA - roomB
}

/** Error codes of a 429 for an exhausted balance, which waiting cannot fix. */
const SPENT = /^(insufficient_quota|billing_hard_limit_reached|billing_error|credit_balance_too_low)$/

/** Returns the reason why a key must rest after an answer; null if it may be used. */
function restFor({ status, code }: CredentialAnswer): Rest | null {
  if (status === 402 || (code !== null && SPENT.test(code))) return 'spent'
  if (status === 401 || status === 403) return 'denied'
  return status === 429 ? 'limit' : null
}

function exhausted(provider: string, waitMs: number): CredentialError {
  const seconds = Math.max(Math.ceil(waitMs / 1_000), 1)
  return new CredentialError(`${provider}: none of its keys can be used before ${seconds} s are over`, waitMs)
}

/** Reason why a key is temporarily not used. */
type Rest = 'limit' | 'denied' | 'spent'

/** Time for which a key rests if the provider reports no duration, ms. */
const REST_MS: Readonly<Record<Rest, number>> = { limit: 30_000, denied: 300_000, spent: 600_000 }

/** A limit as reported by the newest answer. */
interface Report extends Remaining {
  /** Sequence number of the answered request, and the number of older requests that were then open. */
  readonly n: number
  readonly older: number
}

/** One of the keys: the limits that its provider has reported, and whether it may be used now. */
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

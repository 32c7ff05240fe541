// Several keys for one provider. A session stays with its key, because its prompt cache and sealed reasoning
// may belong to the key's account. A session moves only if its key cannot be used. Limits are read from the
// headers of every answer, so that a key is no longer used before the provider refuses it.
import { createKeySearch } from '../shared/redact.ts'
import {
  type Credential,
  type CredentialAnswer,
  CredentialError,
  type Credentials,
  type CredentialUse,
} from './credentials.ts'
import type { KeySource } from './key-source.ts'
import type { PoolKey, PoolState, Rest } from './pool-key.ts'

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

// A credential that expires, such as a token. It is fetched when first needed, and renewed in time. One fetch
// serves all waiting calls. Independent of clouds.

import { after } from '../shared/boundary.ts'
import type { Timer } from '../shared/clock.ts'
import { withBoundedAnswers } from './bounded-answers.ts'
import { CredentialError } from './credentials.ts'

export interface Expiring<Value> {
  readonly value: Value
  /** Time of expiry, ms since the epoch; infinite if it does not expire. */
  readonly expiresAt: number
}

interface RenewalOptions<Value> {
  /** Fetches a new credential. Exceptions of `fetch` become errors of the waiting calls. */
  readonly fetch: () => Promise<Expiring<Value>>
  /** Returns the message for an error of `fetch`, without a secret. */
  readonly explain: (error: unknown) => string
  /** Name in errors. */
  readonly what: string
  readonly now: () => number
  /** Timeout of a fetch, ms. */
  readonly timeoutMs?: number
}

const FETCH_TIMEOUT_MS = 10_000
/** Remaining validity at which the credential is renewed, while calls continue to use it, ms. */
const RENEW_BEFORE_MS = 5 * 60_000
/** Remaining validity at which calls wait for the new credential, ms. */
const MIN_LEFT_MS = 20_000
/** Minimum time between two renewals, ms. Some credentials are issued with little time left. */
const MIN_AGE_MS = 10_000
/** Time during which later calls receive the same failure, ms. */
const FAILED_MS = 1_000

export class Renewed<Value> {
  readonly #options: RenewalOptions<Value>
  #current: Expiring<Value> | null = null
  #renewAt = 0
  #running: Promise<Value> | null = null
  #failure: { readonly error: CredentialError; readonly until: number } | null = null

  constructor(options: RenewalOptions<Value>) {
    this.#options = options
  }

  /**
   * Returns a valid credential, or a promise if calls must wait for it. Throws or rejects with
   * CredentialError.
   */
  get(): Value | Promise<Value> {
    const now = this.#options.now()
    if (this.#current && now < this.#current.expiresAt - MIN_LEFT_MS) {
      if (now >= this.#renewAt) this.#fetch().catch(() => {}) // the old credential is used until it expires
      return this.#current.value
    }
    if (this.#failure && now < this.#failure.until) throw this.#failure.error
    return this.#fetch()
  }

  /** Notes that the provider refused this credential, so that the next call fetches another. */
  refused(value: Value): void {
    if (this.#current?.value === value) this.#current = null
  }

  #fetch(): Promise<Value> {
    const { fetch, explain, what, now, timeoutMs = FETCH_TIMEOUT_MS } = this.#options
    this.#renewAt = now() + MIN_AGE_MS
    this.#running ??= within(timeoutMs, withBoundedAnswers(timeoutMs, fetch))
      .then(
        (fetched) => {
          this.#current = fetched
          this.#failure = null
          this.#renewAt = Math.max(fetched.expiresAt - RENEW_BEFORE_MS, now() + MIN_AGE_MS)
          return fetched.value
        },
        (thrown) => {
          const why = thrown instanceof TimeoutError ? `none came within ${timeoutMs} ms` : explain(thrown)
          const error = new CredentialError(`${what}: ${why}`)
          this.#failure = { error, until: now() + FAILED_MS }
          throw error
        },
      )
      .finally(() => {
        this.#running = null
      })
    return this.#running
  }
}

class TimeoutError extends Error {
  override readonly name = 'TimeoutError'
}

function within<Value>(ms: number, promise: Promise<Value>): Promise<Value> {
  let timer: Timer
  const timeout = new Promise<never>((_, reject) => {
    timer = after(ms, () => reject(new TimeoutError()), reject)
  })
  return Promise.race([promise, timeout]).finally(() => timer.close())
}

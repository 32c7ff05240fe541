// A credential that expires, such as a token: fetched when it is first needed and renewed in time. One fetch
// serves all calls that wait for it. Knows no cloud.
import { CredentialError } from './credentials.ts'

export interface Expiring<Value> {
  readonly value: Value
  /** In ms since the epoch; infinite if it does not expire. */
  readonly expiresAt: number
}

export interface RenewalOptions<Value> {
  /** Fetches a new one. What it throws ends in the error of the calls that wait. */
  readonly fetch: () => Promise<Expiring<Value>>
  /** Words an error of `fetch`, without a secret. */
  readonly explain: (error: unknown) => string
  /** Name in errors. */
  readonly what: string
  readonly now: () => number
  /** Timeout of a fetch, ms. */
  readonly timeoutMs?: number
}

const FETCH_TIMEOUT_MS = 10_000
/** Time left at which it is renewed, while calls go on with it, ms. */
const RENEW_BEFORE_MS = 5 * 60_000
/** Time left at which calls wait for the new one, ms. */
const MIN_LEFT_MS = 20_000
/** Time between two renewals, ms: some are handed out with little time left. */
const MIN_AGE_MS = 10_000
/** Time for which a failure answers further calls, ms. */
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

  /** Returns a valid one; a promise if calls have to wait for it. Throws or rejects with CredentialError. */
  get(): Value | Promise<Value> {
    const now = this.#options.now()
    if (this.#current && now < this.#current.expiresAt - MIN_LEFT_MS) {
      if (now >= this.#renewAt) this.#fetch().catch(() => {}) // the old one serves until it ends
      return this.#current.value
    }
    if (this.#failure && now < this.#failure.until) throw this.#failure.error
    return this.#fetch()
  }

  /** The provider refused this one: the next call fetches another. */
  refused(value: Value): void {
    if (this.#current?.value === value) this.#current = null
  }

  #fetch(): Promise<Value> {
    const { fetch, explain, what, now, timeoutMs = FETCH_TIMEOUT_MS } = this.#options
    this.#renewAt = now() + MIN_AGE_MS
    this.#running ??= within(timeoutMs, fetch())
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
  let timer: NodeJS.Timeout
  const timeout = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new TimeoutError()), ms)
  })
  return Promise.race([promise, timeout]).finally(() => clearTimeout(timer))
}

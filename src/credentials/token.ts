// Credentials that expire. They are fetched when first needed, and renewed in time; one fetch serves all waiting calls.
// The clouds' own libraries fetch them, read answers of any size, and do not stop when a fetch is given up, so their
// answers are limited. An access token is sent as a bearer token in every request; each cloud fetches it in its own
// way.
import { AsyncLocalStorage } from 'node:async_hooks'
import { subscribe } from 'node:diagnostics_channel'
import type { ClientRequest, IncomingMessage } from 'node:http'
import { after, guarded, once, signalAfter, stray } from '../shared/boundary.ts'
import type { Timer } from '../shared/clock.ts'
import { createKeySearch } from '../shared/redact.ts'
import {
  type Credential,
  type CredentialAnswer,
  CredentialError,
  type Credentials,
  type CredentialUse,
} from './credentials.ts'

export interface Token {
  readonly token: string
  /** Headers that belong to the token, as alternating names and values. */
  readonly headers?: readonly string[]
}

export interface TokenOptions {
  /** Name of the credential in the record. */
  readonly name: string
  /** Name in errors. */
  readonly what: string
  readonly fetch: () => Promise<Expiring<Token>>
  /** Returns the message for an error of `fetch`, without a secret. */
  readonly explain: (error: unknown) => string
  /** Explains why the provider refused a token; null if the reason is unknown. */
  readonly refusal: (answer: CredentialAnswer) => string | null
  /** Called with each token when it is fetched, so that it can be masked. */
  readonly learn: (secret: string) => void
  readonly now: () => number
}

export const tokenCredentials = (options: TokenOptions): Credentials => new TokenCredentials(options)

const MAX_TOKEN_LENGTH = 16_384

/** Characters of a token in a header. */
const TOKEN = /^[\x21-\x7e]+$/

class TokenCredentials implements Credentials {
  readonly areCallers = false
  readonly #options: TokenOptions
  readonly #tokens: Renewed<Token>
  #search: (bytes: Buffer) => boolean = () => false

  constructor(options: TokenOptions) {
    this.#options = options
    const { what, explain, now } = options
    this.#tokens = new Renewed({ what, explain, now, fetch: () => this.#fetch() })
  }

  take({ tried }: CredentialUse): Credential | Promise<Credential> {
    const isSecond = tried.has(this.#options.name)
    const token = this.#tokens.get()
    return token instanceof Promise
      ? token.then((token) => this.#credential(token, isSecond))
      : this.#credential(token, isSecond)
  }

  holdsSecret(bytes: Buffer): boolean {
    return this.#search(bytes)
  }

  #credential(given: Token, isSecond: boolean): Credential {
    const { name, refusal } = this.#options
    const { token, headers = [] } = given
    return {
      key: null,
      name,
      complete: (request) => ({
        ...request,
        headers: [...request.headers, 'authorization', `Bearer ${token}`, ...headers],
      }),
      settled: (answer) => {
        if (answer?.status !== 401) return null
        this.#tokens.refused(given)
        return isSecond ? null : 'another'
      },
      refusal,
    }
  }

  async #fetch(): Promise<Expiring<Token>> {
    const fetched = await this.#options.fetch()
    const { token } = fetched.value
    if (typeof token !== 'string' || !TOKEN.test(token)) throw new Error('the token fits no header')
    // Servers accept no longer header. The search for a very long token would take the heap.
    if (token.length > MAX_TOKEN_LENGTH) throw new Error('the token is too long')
    this.#search = createKeySearch(token)
    this.#options.learn(token)
    return fetched
  }
}

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

/** Maximum size of an answer, bytes. Answers with a token have a few thousand. */
const MAX_ANSWER_BYTES = 2 ** 20

const limits = new AsyncLocalStorage<AbortSignal>()

/** Limits a request of Node's HTTP client, if it belongs to a fetch. Requests of other code are not changed. */
function limit(message: unknown): void {
  const signal = limits.getStore()
  if (!signal) return
  const { request } = message as { readonly request: ClientRequest }
  if (!request.headersSent) request.setHeader('accept-encoding', 'identity')
  const stop = () => void request.destroy(new Error('the time is over'))
  if (signal.aborted) stop()
  const abort = new AbortController()
  signal.addEventListener('abort', guarded(stop, stray), { once: true, signal: abort.signal })
  once(request, 'close', () => abort.abort(), stray)
  once(request, 'response', limitSize, stray)
}

/**
 * Destroys an answer that is too long, or compressed, because a library would make it a thousand times longer. A
 * listener for `data` would take the bytes from the library.
 */
function limitSize(answer: IncomingMessage): void {
  if (!/^(identity)?$/i.test(answer.headers['content-encoding'] ?? ''))
    answer.destroy(new Error('the answer is compressed'))
  let size = 0
  const push = answer.push.bind(answer)
  answer.push = (piece: Buffer | null, encoding) => {
    size += piece?.length ?? 0
    if (size <= MAX_ANSWER_BYTES) return push(piece, encoding)
    answer.destroy(new Error('the answer is too long'))
    return false
  }
}

let isSubscribed = false

/** Runs code of a library. Its HTTP requests end after `ms`, or when an answer is longer than `MAX_ANSWER_BYTES`. */
function withBoundedAnswers<Value>(ms: number, work: () => Promise<Value>): Promise<Value> {
  if (!isSubscribed) subscribe('http.client.request.created', limit)
  isSubscribed = true
  return limits.run(signalAfter(ms), work)
}

/** Requests JSON for a library that has `fetch` replaced. No redirect is followed, because the request has a secret. */
export async function fetchJson(
  url: string,
  init: { readonly method: string; readonly headers?: Record<string, string>; readonly body?: string },
): Promise<{ headers: Record<string, string>; body: unknown; status: number }> {
  const signal = limits.getStore() ?? null
  const answer = await fetch(url, { ...init, redirect: 'error', signal })
  const pieces: Uint8Array[] = []
  let size = 0
  for await (const piece of answer.body ?? []) {
    size += piece.length
    if (size > MAX_ANSWER_BYTES) throw new Error('the answer is too long') // which cancels it
    pieces.push(piece)
  }
  const body: unknown = JSON.parse(Buffer.concat(pieces).toString('utf8'))
  return { headers: Object.fromEntries(answer.headers), body, status: answer.status }
}

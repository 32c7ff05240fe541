// Authentication towards a provider: a key, the caller's own credential, or a signature. Each kind has its own file,
// and registry.ts creates them from the configuration. Independent of clients, the store and routes.
import type { IncomingHttpHeaders } from 'node:http'
import type { CallerCredential } from './caller-credential.ts'

/** Properties of an attempt on which its credential depends. */
export interface CredentialUse {
  /** The caller's own credential; null if none was sent. */
  readonly caller: CallerCredential | null
  /** Gateway key and session of the call, as one text; null without a session. */
  readonly session: string | null
  /** Names of the credentials that this call has already tried for its target. */
  readonly tried: ReadonlySet<string>
}

/** Credentials of one provider. */
export interface Credentials {
  /** True if each call brings its own credential. An error 401 or 403 then concerns only its caller. */
  readonly areCallers: boolean
  /** The credential of every attempt, if `take` always returns the same one. */
  readonly constant?: Credential
  /** Returns the credential for an attempt, or a promise if it must be fetched. Throws CredentialError. */
  take(use: CredentialUse): Credential | Promise<Credential>
  /** Returns true if bytes of an answer contain a secret of the operator. */
  holdsSecret(bytes: Buffer): boolean
}

/** Credential of a single attempt. */
export interface Credential {
  /** Key that the dialect writes into its own header; null if there is none. */
  readonly key: string | null
  /** Name of the credential for the record; absent if the provider has only one. */
  readonly name?: string
  /** True if a different credential served the session before. */
  readonly moved?: boolean
  /** True if `complete` needs the whole body, so that a relayed body cannot be sent as it arrives. */
  readonly needsBody?: true
  /**
   * Returns the request with additional headers or a signature, which holds for this method only. Each secret text that
   * it adds must have been given to `learn`, also one that is made of configured values: a provider may repeat it.
   */
  complete?<Made extends CompletedRequest>(request: Made, method: string): Made | Promise<Made>
  /**
   * Called once, with the start of the answer or null. If the answer concerns only this credential, returns
   * `another` if a credential is usable immediately, or the time until one is.
   */
  settled?(answer: CredentialAnswer | null): 'another' | { readonly waitMs: number } | null
  /** Explains in our own words why the provider refused the credential; null if the reason is unknown. */
  refusal?(answer: CredentialAnswer): string | null
}

/** The parts of a request on which a signature depends. */
export interface CompletedRequest {
  readonly path: string
  /** Alternating names and values. */
  readonly headers: string[]
  readonly body: string | Buffer
}

export interface CredentialAnswer {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  /** Code of the provider's error. */
  readonly code: string | null
  /**
   * The provider's own message. It may name the provider's customer, so it is only inspected, never shown.
   */
  readonly message: string | null
  /** Value of `Retry-After`; null if absent. */
  readonly retryAfterMs: number | null
}

/** Error if there is no credential for a request. The message is for the client and contains no secret. */
export class CredentialError extends Error {
  override readonly name = 'CredentialError'
  /** Time after which a credential may be available, ms; null if unknown. */
  readonly waitMs: number | null

  constructor(message: string, waitMs: number | null = null) {
    super(message)
    this.waitMs = waitMs
  }
}

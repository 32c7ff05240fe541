// How a provider is spoken to: with a key, the caller's own credential, or a signature. One file for each
// kind; registry.ts makes them from the configuration. Knows no client, no store and no route.
import type { IncomingHttpHeaders } from 'node:http'
import type { ProviderRequest } from '../dialects/dialect.ts'
import type { CallerCredential } from './caller-credential.ts'

/** An attempt, as far as its credential depends on it. */
export interface CredentialUse {
  /** The caller's own credential; null if it sent none. */
  readonly caller: CallerCredential | null
  /** Gateway key and session of the call, as one text; null without a session. */
  readonly session: string | null
  /** Names of the credentials that this call has tried for its target. */
  readonly tried: ReadonlySet<string>
}

/** Credentials of one provider. */
export interface Credentials {
  /** True if each call brings its own credential: an error 401 or 403 then concerns only its caller. */
  readonly areCallers: boolean
  /** Returns the credential for an attempt; a promise if it has to be fetched. Throws CredentialError. */
  take(use: CredentialUse): Credential | Promise<Credential>
  /** Returns true if bytes of an answer repeat a secret of the operator. */
  holdsSecret(bytes: Buffer): boolean
}

/** The credential of one attempt. */
export interface Credential {
  /** Key that the dialect writes into its own header; null if there is none. */
  readonly key: string | null
  /** Its name, for the record; absent if the provider has only one. */
  readonly name?: string
  /** True if another one served the session before. */
  readonly moved?: boolean
  /** Returns the request with further headers or a signature. */
  complete?(request: ProviderRequest): ProviderRequest | Promise<ProviderRequest>
  /**
   * Called once, with the start of the answer or null. For an answer that concerns only this credential, it
   * returns `another` if one can be used at once, or the time until one can.
   */
  settled?(answer: CredentialAnswer | null): 'another' | { readonly waitMs: number } | null
  /** Explains why the provider refused it, in our own words; null if that is not known. */
  refusal?(answer: CredentialAnswer): string | null
}

export interface CredentialAnswer {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  /** Code of the provider's error. */
  readonly code: string | null
  /** The provider's own words; they may name its customer, so they are only looked at. */
  readonly message: string | null
  /** From `Retry-After`; null if absent. */
  readonly retryAfterMs: number | null
}

/** There is no credential for a request. The message is for the client and contains no secret. */
export class CredentialError extends Error {
  override readonly name = 'CredentialError'
  /** Time after which there may be one, ms; null if that is not known. */
  readonly waitMs: number | null

  constructor(message: string, waitMs: number | null = null) {
    super(message)
    this.waitMs = waitMs
  }
}

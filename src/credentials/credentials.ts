// Authentication towards a provider: a key, the caller's own credential, or a signature. The caller's own is here, each other
// kind has its own file, and registry.ts creates them from the configuration. Independent of clients, the store and routes.
import type { IncomingHttpHeaders } from 'node:http'
import { createMask, type Mask } from '../shared/redact.ts'

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

/**
 * Header for the gateway's key. It leaves `Authorization` and `x-api-key` free for the caller's own
 * credential.
 */
export const GATEWAY_KEY_HEADER = 'x-gateway-key'

/** Headers for a caller's own credential, and the form of a single credential in each. */
const FORMS = { authorization: /^[\w-]+ +[^\s,]+$/, 'x-api-key': /^[^\s,]+$/ } as const

/**
 * The caller's own credential, such as the login of a subscription. It exists for one call, in memory, and must not be
 * stored or sent to any other destination. Its secrets are private members, so that no text or JSON made from this object
 * contains them.
 */
export class CallerCredential {
  readonly #headers: readonly string[]
  #mask: Mask | null = null

  /** `headers`: alternating names and values. */
  constructor(headers: readonly string[]) {
    this.#headers = headers
  }

  /** Returns alternating names and values, only for the provider of the call. */
  forProvider(): readonly string[] {
    return this.#headers
  }

  /** Returns a string without the credential. */
  masked(text: string): string {
    this.#mask ??= createMask(
      this.#headers.filter((_, at) => at % 2 === 1).map((value) => value.replace(/^.* /, '')),
    )
    return this.#mask(text)
  }
}

/**
 * Returns the caller's own credential from the headers of a call; null if there is none. A header with a gateway key
 * is not a credential. A header with several credentials is not one credential, and `several` may refuse it.
 */
export function callerCredential(
  headers: IncomingHttpHeaders,
  holdsGatewayKey: (text: string) => boolean,
  several: (header: string) => void,
): CallerCredential | null {
  const own: string[] = []
  for (const [name, form] of Object.entries(FORMS)) {
    const value = headers[name]
    if (typeof value !== 'string' || value === '') continue
    if (!form.test(value)) several(name)
    else if (!holdsGatewayKey(value)) own.push(name, value)
  }
  return own.length > 0 ? new CallerCredential(own) : null
}

/** Describes the credential that a call must send. */
export const callerCredentialMissing = (provider: string): string =>
  `${provider} takes the caller's own credential: send the gateway's key as X-Gateway-Key, and your own as \`Authorization\` or \`x-api-key\``

/** `auth: caller`: a provider that receives the caller's own credential, and never another caller's. */
export const callersOwn = (provider: string): Credentials => ({
  areCallers: true,
  take({ caller }) {
    if (!caller) throw new CredentialError(callerCredentialMissing(provider))
    return {
      key: null,
      complete: (request) => ({ ...request, headers: [...request.headers, ...caller.forProvider()] }),
    }
  },
  holdsSecret: () => false, // not a secret to the caller who sent it
})

// An access token of a cloud, sent as a bearer token in every request. Each cloud fetches it in its own way.
import { createKeySearch } from '../shared/redact.ts'
import type { Credential, CredentialAnswer, Credentials, CredentialUse } from './credentials.ts'
import { type Expiring, Renewed } from './renewed.ts'

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

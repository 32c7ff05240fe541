// `auth: aws`: signs requests with AWS Signature Version 4. AWS's own libraries find the credentials and sign
// requests; they are loaded with the first call.
import type { AwsCredentialIdentity } from '@smithy/types'
import { regionIn } from '../shared/plain-address.ts'
import { createKeySearch } from '../shared/redact.ts'
import type {
  CompletedRequest,
  Credential,
  CredentialAnswer,
  Credentials,
  CredentialUse,
} from './credentials.ts'
import { Renewed } from './token.ts'

interface AwsOptions {
  readonly provider: string
  /** Origin of the provider's base URL. */
  readonly origin: string
  readonly region?: string | undefined
  readonly service?: string | undefined
  readonly profile?: string | undefined
  /** Called with each secret when it is read, so that it can be masked. */
  readonly learn: (secret: string) => void
  readonly now: () => number
}

/** Returns the service name for which requests to an AWS address are signed. */
const serviceIn = (hostname: string): string =>
  /^(bedrock-mantle|aws-external-anthropic)\./.exec(hostname)?.[1] ?? 'bedrock'

/** Characters of credentials in a header. */
const HEADER_VALUE = /^[\x21-\x7e]+$/

/** Name of the credential in the record. */
const NAME = 'aws'

/**
 * Clock difference above which it is considered the reason for a refusal, ms. AWS itself allows 5 minutes.
 */
const MAX_CLOCK_ERROR_MS = 4 * 60_000

export const awsCredentials = (options: AwsOptions): Credentials => new AwsCredentials(options)

interface Identity extends AwsCredentialIdentity {
  readonly holds: (bytes: Buffer) => boolean
}

class AwsCredentials implements Credentials {
  readonly areCallers = false
  readonly #options: AwsOptions
  readonly #identities: Renewed<Identity>
  #current: Identity | null = null
  /** AWS's clock minus ours, ms; 0 unless it exceeds the tolerance. */
  #clockOffset = 0

  constructor(options: AwsOptions) {
    this.#options = options
    const { provider, now } = options
    const what = `${provider}: no credentials of AWS`
    this.#identities = new Renewed({ fetch: () => this.#fetch(), explain, what, now })
  }

  take({ tried }: CredentialUse): Credential | Promise<Credential> {
    const isSecond = tried.has(NAME)
    const identity = this.#identities.get()
    return identity instanceof Promise
      ? identity.then((identity) => this.#credential(identity, isSecond))
      : this.#credential(identity, isSecond)
  }

  holdsSecret(bytes: Buffer): boolean {
    return this.#current?.holds(bytes) ?? false
  }

  #credential(identity: Identity, isSecond: boolean): Credential {
    return {
      key: null,
      name: NAME,
      needsBody: true,
      complete: (request, method) => this.#sign(request, method, identity),
      settled: (answer) => (answer ? this.#settled(answer, identity, isSecond) : null),
      refusal: (answer) => refusalOf(answer, this.#options.now() + this.#clockOffset),
    }
  }

  /**
   * Renews expired credentials, or corrects the clock to AWS's. In both cases, the request is retried immediately.
   */
  #settled(answer: CredentialAnswer, identity: Identity, isSecond: boolean): 'another' | null {
    if (answer.status !== 401 && answer.status !== 403) return null
    const error = clockError(answer, this.#options.now() + this.#clockOffset)
    if (error !== 0) this.#clockOffset += error
    else if (isExpired(answer)) this.#identities.refused(identity)
    else return null
    return isSecond ? null : 'another'
  }

  async #fetch(): Promise<{ value: Identity; expiresAt: number }> {
    const { profile, region, learn } = this.#options
    const { defaultProvider } = await import('@aws-sdk/credential-provider-node')
    const provide = defaultProvider({
      ...(profile !== undefined && { profile }),
      clientConfig: { region: region ?? this.#region() },
      ignoreCache: true, // other programs renew the files
    })
    const found = await provide()
    const { accessKeyId, secretAccessKey, sessionToken, expiration } = found
    if (![accessKeyId, sessionToken ?? accessKeyId].every((each) => HEADER_VALUE.test(each)))
      throw new Error('the credentials fit no header')
    learn(secretAccessKey)
    if (sessionToken) learn(sessionToken)
    const searches = [secretAccessKey, sessionToken ?? secretAccessKey].map(createKeySearch)
    const value = { ...found, holds: (bytes: Buffer) => searches.some((holds) => holds(bytes)) }
    this.#current = value
    return { value, expiresAt: expiration?.getTime() ?? Number.POSITIVE_INFINITY }
  }

  #region(): string {
    return this.#options.region ?? regionIn(new URL(this.#options.origin).hostname) ?? 'us-east-1'
  }

  /** Signs exactly what is sent. The query is sent in the form in which it is signed. */
  async #sign<Made extends CompletedRequest>(
    request: Made,
    method: string,
    credentials: Identity,
  ): Promise<Made> {
    const [{ SignatureV4 }, { Hash }] = await Promise.all([
      import('@smithy/signature-v4'),
      import('@smithy/hash-node'),
    ])
    const { origin, service, now } = this.#options
    const { host, hostname, protocol } = new URL(origin)
    const signer = new SignatureV4({
      credentials,
      region: this.#region(),
      service: service ?? serviceIn(hostname),
      sha256: Hash.bind(null, 'sha256'),
    })
    const { path, query, sent } = partsOf(request.path)
    const { headers } = await signer.sign(
      {
        ...{ method, protocol, hostname, path, query, body: request.body },
        headers: { host, ...signedHeaders(request.headers) },
      },
      { signingDate: new Date(now() + this.#clockOffset) },
    )
    const { host: _, ...signed } = headers
    const unsigned = pairs(request.headers).filter(([name]) => !Object.hasOwn(signed, name.toLowerCase()))
    return { ...request, path: sent, headers: [...unsigned, ...Object.entries(signed)].flat() }
  }
}

/** Parameters that AWS's library leaves out of a signature. No API has them, so they are not sent. */
const UNSIGNABLE = /^(__proto__|x-amz-signature)$/i

/**
 * Splits a path into the path and the query that are signed. `sent` is the same path with the query as AWS writes
 * it, because servers differ in how they read other spellings, such as `+`.
 */
function partsOf(path: string): { path: string; query: Record<string, string[]>; sent: string } {
  const [, before = '', after = ''] = /^([^?]*)\??(.*)$/s.exec(path)!
  const parameters = [...new URLSearchParams(after)].filter(([name]) => !UNSIGNABLE.test(name))
  const byName = Map.groupBy(parameters, ([name]) => name)
  const query = Object.fromEntries([...byName].map(([name, same]) => [name, same.map(([, value]) => value)]))
  const written = parameters.map(([name, value]) => `${encoded(name)}=${encoded(value)}`).join('&')
  return { path: before, query, sent: written === '' ? before : `${before}?${written}` }
}

const encoded = (text: string): string =>
  encodeURIComponent(text).replace(/[!'()*]/g, (each) => `%${each.charCodeAt(0).toString(16).toUpperCase()}`)

/**
 * Headers of a request that are signed with those that the signature adds. Others may be changed by a proxy on
 * the way.
 */
const SIGNED = /^(content-type|x-amz-(?!(date|security-token|content-sha256)$).+)$/

const signedHeaders = (headers: readonly string[]): Record<string, string> =>
  Object.fromEntries(
    pairs(headers)
      .map(([name, value]) => [name.toLowerCase(), value] as const)
      .filter(([name]) => SIGNED.test(name)),
  )

const pairs = (headers: readonly string[]): (readonly [string, string])[] =>
  Array.from({ length: headers.length / 2 }, (_, at) => [headers[2 * at]!, headers[2 * at + 1]!])

/** Returns AWS's name for an error, from its header or the provider's code; empty if there is none. */
const errorType = ({ headers, code }: CredentialAnswer): string =>
  String(headers['x-amzn-errortype'] ?? code ?? '').split(/[:#]/, 1)[0]!

const isExpired = (answer: CredentialAnswer): boolean =>
  /^ExpiredToken/.test(errorType(answer)) ||
  /(token|credentials)\b.* (is|are|has|have) expired/i.test(answer.message ?? '')

/** Returns how far AWS's clock is ahead of `now`, ms; 0 if the error has a different cause. */
function clockError(answer: CredentialAnswer, now: number): number {
  const difference = Date.parse(String(answer.headers.date ?? '')) - now
  return Math.abs(difference) > MAX_CLOCK_ERROR_MS ? difference : 0
}

/** Explains why AWS refuses credentials. AWS's own message names the account, so it is not included. */
function refusalOf(answer: CredentialAnswer, now: number): string | null {
  const type = errorType(answer)
  const behind = clockError(answer, now)
  if (behind !== 0)
    return `this machine's clock is ${Math.round(Math.abs(behind) / 60_000)} minutes ${behind > 0 ? 'behind' : 'ahead of'} AWS's; set it`
  if (isExpired(answer))
    return 'the credentials of AWS have expired; renew them, for example with `aws sso login`'
  if (/^(UnrecognizedClient|InvalidClientTokenId)/.test(type))
    return 'AWS does not know the access key, or the session token is missing or wrong'
  if (/^(InvalidSignature|SignatureDoesNotMatch|IncompleteSignature)/.test(type))
    return 'AWS finds the signature wrong; check the secret access key, `aws.region` and `aws.service`'
  if (/^AccessDenied/.test(type))
    return 'the credentials of AWS may not use this model; they need bedrock:InvokeModel and bedrock:InvokeModelWithResponseStream for it'
  return null
}

/**
 * Explains why there are no credentials. Messages of AWS's libraries are left out, because they may contain a
 * program's output.
 */
function explain(error: unknown): string {
  const { name = 'Error', code } = error as NodeJS.ErrnoException
  if (code === 'ERR_MODULE_NOT_FOUND') return 'the libraries of AWS are not installed; install Waybill again'
  const message = String((error as Error).message)
  if (/expired/i.test(message)) return 'they have expired; renew them, for example with `aws sso login`'
  if (name === 'CredentialsProviderError')
    return 'neither the environment, nor a profile, nor the machine has any; see docs/credentials.md'
  return `they could not be fetched (${code ?? name})`
}

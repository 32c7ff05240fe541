// AWS's own parts of a request and an answer. Signature Version 4, verified with AWS's rules and wording of refusals, and
// written from the public description without AWS's libraries, so that it can verify their signatures. The event stream wraps
// a dialect's server-sent events in the messages of InvokeModelWithResponseStream: lengths, headers, body, and a CRC-32.
import { createHash, createHmac, timingSafeEqual } from 'node:crypto'
import { crc32 } from 'node:zlib'

interface SignedRequest {
  readonly method: string
  /** Path as received, percent-encoded. */
  readonly rawPath: string
  readonly query: URLSearchParams
  /** Lower-case names. */
  readonly headers: Readonly<Record<string, string>>
  readonly text: string
}

export interface AwsAccount {
  readonly accessKeyId: string
  readonly secretAccessKey: string
  /** Token that must be sent with the key; undefined for a key that does not expire. */
  readonly sessionToken?: string
  /** Time at which the token expires, ms since the epoch. */
  readonly expiresAt?: number
  /** True if the key has no permission to call a model. */
  readonly isDenied?: boolean
}

interface VerifyOptions {
  readonly accounts: readonly AwsAccount[]
  /** Required region; by default, any region is accepted. */
  readonly region?: string
  readonly services: readonly string[]
  /** Current time, ms since the epoch. */
  readonly now: number
}

/** AWS's name of an error and its message. */
interface SignatureProblem {
  readonly type: string
  readonly message: string
}

/** Maximum clock difference that AWS allows, ms. */
const MAX_CLOCK_SKEW_MS = 5 * 60_000

const AUTHORIZATION =
  /^AWS4-HMAC-SHA256 +Credential=([^/]+)\/(\d{8})\/([^/]+)\/([^/]+)\/aws4_request, *SignedHeaders=([^, ]+), *Signature=([0-9a-f]{64})$/

/** Returns the problem with a request's signature; null if the signature is valid. */
export function signatureProblem(
  request: SignedRequest,
  { accounts, region, services, now }: VerifyOptions,
): SignatureProblem | null {
  const { headers } = request
  if (headers.authorization === undefined)
    return { type: 'MissingAuthenticationTokenException', message: 'Missing Authentication Token' }
  const [, id, day, signedRegion = '', service = '', signed = '', signature = ''] =
    AUTHORIZATION.exec(headers.authorization) ?? []
  const date = headers['x-amz-date'] ?? ''
  if (id === undefined || day === undefined || !/^\d{8}T\d{6}Z$/.test(date))
    return {
      type: 'IncompleteSignatureException',
      message: 'Authorization header requires Credential, Signature, SignedHeaders and an x-amz-date header.',
    }
  const account = accounts.find(({ accessKeyId }) => accessKeyId === id)
  if (!account || account.sessionToken !== headers['x-amz-security-token'])
    return {
      type: 'UnrecognizedClientException',
      message: 'The security token included in the request is invalid.',
    }
  if (account.expiresAt !== undefined && account.expiresAt <= now)
    return {
      type: 'ExpiredTokenException',
      message: 'The security token included in the request is expired',
    }
  const wrong = (message: string) => ({ type: 'InvalidSignatureException', message })
  const late = clockProblem(date, now)
  if (late !== null) return wrong(late)
  if (region !== undefined && signedRegion !== region)
    return wrong(`Credential should be scoped to a valid region, not '${signedRegion}'.`)
  if (!services.includes(service))
    return wrong(`Credential should be scoped to correct service: '${services[0]}'.`)
  const hash = headers['x-amz-content-sha256']
  if (hash !== undefined && hash !== sha256(request.text))
    return wrong("The provided 'x-amz-content-sha256' header does not match what was computed.")
  const names = signed.split(';')
  const unsigned = Object.keys(headers).filter(
    (name) => (name === 'host' || name.startsWith('x-amz-')) && !names.includes(name),
  )
  if (unsigned.length > 0) return wrong(`'${unsigned[0]}' must be a 'SignedHeader' in the AWS Authorization.`)
  const scope = `${day}/${signedRegion}/${service}/aws4_request`
  const text = ['AWS4-HMAC-SHA256', date, scope, sha256(canonicalRequest(request, names))].join('\n')
  const key = [day, signedRegion, service, 'aws4_request'].reduce(
    (secret: Buffer, part) => hmac(secret, part),
    Buffer.from(`AWS4${account.secretAccessKey}`),
  )
  if (!timingSafeEqual(hmac(key, text), Buffer.from(signature, 'hex')) || !date.startsWith(day))
    return wrong(
      'The request signature we calculated does not match the signature you provided. Check your AWS Secret Access Key and signing method. Consult the service documentation for details.',
    )
  return account.isDenied
    ? {
        type: 'AccessDeniedException',
        message: `User: arn:aws:iam::123456789012:user/mock is not authorized to perform: bedrock:InvokeModel on resource: arn:aws:bedrock:${signedRegion}::foundation-model because no identity-based policy allows the bedrock:InvokeModel action`,
      }
    : null
}

function clockProblem(date: string, now: number): string | null {
  const at = Date.parse(date.replace(/^(....)(..)(..)T(..)(..)(..)Z$/, '$1-$2-$3T$4:$5:$6Z'))
  const limit = (ms: number) => stamp(ms)
  if (at < now - MAX_CLOCK_SKEW_MS)
    return `Signature expired: ${date} is now earlier than ${limit(now - MAX_CLOCK_SKEW_MS)} (${stamp(now)} - 5 min.)`
  if (at > now + MAX_CLOCK_SKEW_MS)
    return `Signature not yet current: ${date} is still later than ${limit(now + MAX_CLOCK_SKEW_MS)} (${stamp(now)} + 5 min.)`
  return null
}

const stamp = (ms: number): string => new Date(ms).toISOString().replace(/[-:]|\.\d+/g, '')

/** Returns the text to sign. The path is encoded twice, as for every service except S3. */
function canonicalRequest(
  { method, rawPath, query, headers, text }: SignedRequest,
  names: readonly string[],
): string {
  const path = rawPath.split('/').map(encoded).join('/')
  const pairs = [...query].map(([name, value]) => `${encoded(name)}=${encoded(value)}`).sort()
  const values = names.map((name) => `${name}:${(headers[name] ?? '').trim().replace(/ +/g, ' ')}\n`)
  return [method, path, pairs.join('&'), values.join(''), names.join(';'), sha256(text)].join('\n')
}

const encoded = (text: string): string =>
  encodeURIComponent(text).replace(
    /[!'()*]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  )

const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex')
const hmac = (key: Buffer, text: string): Buffer => createHmac('sha256', key).update(text).digest()

export const EVENT_STREAM_TYPE = 'application/vnd.amazon.eventstream'

/** Type number of a header with a string value. */
const TEXT = 7

/** Returns one message. */
function eventStreamMessage(headers: Readonly<Record<string, string>>, body: string): Buffer {
  const named = Object.entries(headers).map(([name, value]) => {
    const size = Buffer.alloc(2)
    size.writeUInt16BE(Buffer.byteLength(value))
    return Buffer.concat([
      Buffer.from([Buffer.byteLength(name)]),
      Buffer.from(name),
      Buffer.from([TEXT]),
      size,
      Buffer.from(value),
    ])
  })
  const head = Buffer.concat(named)
  const payload = Buffer.from(body)
  const message = Buffer.alloc(16 + head.length + payload.length)
  message.writeUInt32BE(message.length, 0)
  message.writeUInt32BE(head.length, 4)
  message.writeUInt32BE(crc32(message.subarray(0, 8)), 8)
  head.copy(message, 12)
  payload.copy(message, 12 + head.length)
  message.writeUInt32BE(crc32(message.subarray(0, -4)), message.length - 4)
  return message
}

/** Returns the message for one part of an answer, as JSON in the model's own dialect. */
export const chunkMessage = (json: string): Buffer =>
  eventStreamMessage(
    { ':event-type': 'chunk', ':content-type': 'application/json', ':message-type': 'event' },
    JSON.stringify({ bytes: Buffer.from(json).toString('base64'), p: 'abcdefghijkl' }),
  )

/** Returns the message for an error within a stream. */
export const exceptionMessage = (type: string, message: string): Buffer =>
  eventStreamMessage(
    { ':exception-type': type, ':content-type': 'application/json', ':message-type': 'exception' },
    JSON.stringify({ message }),
  )

/**
 * Turns server-sent events, whole or in pieces, into messages. A ping is left out; an error becomes an
 * exception message.
 */
export function createEventStream(): (piece: Uint8Array) => Buffer {
  let begun = ''
  return (piece) => {
    const events = (begun + Buffer.from(piece).toString('utf8')).split('\n\n')
    begun = events.pop()!
    return Buffer.concat(events.map(messageOf))
  }
}

function messageOf(event: string): Buffer {
  const data = event
    .split('\n')
    .flatMap((line) => (line.startsWith('data:') ? [line.slice(5).trimStart()] : []))
    .join('\n')
  if (data === '') return Buffer.alloc(0)
  const json = JSON.parse(data)
  if (json.type === 'ping') return Buffer.alloc(0)
  return json.type === 'error'
    ? exceptionMessage('internalServerException', json.error.message)
    : chunkMessage(data)
}

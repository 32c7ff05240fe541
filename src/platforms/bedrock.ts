// Claude through Amazon Bedrock's InvokeModel. The path holds the model, the body holds betas, and streams
// have AWS's event stream format. Format: Amazon Bedrock API reference, "InvokeModelWithResponseStream",
// "CountTokens".

import { createRequire } from 'node:module'
import type { EventStreamCodec } from '@smithy/eventstream-codec'
import type { Platform, StreamDecoder } from '../dialects/dialect.ts'
import { isObject, textOf } from '../dialects/json.ts'
import { omitMembers, spliceMembers } from '../json/splice.ts'
import { BytePieces } from '../shared/byte-pieces.ts'
import { type ErrorType, messagesError, messagesRequest } from './messages.ts'

const VERSION = JSON.stringify('bedrock-2023-05-31')
const EVENT_STREAM = 'application/vnd.amazon.eventstream'

export const bedrockPlatform = {
  place(request) {
    const { base, model, stream, isCount, version, betas, body, headers } = messagesRequest(request)
    const operation = isCount ? 'count-tokens' : stream ? 'invoke-with-response-stream' : 'invoke'
    const placed = spliceMembers(omitMembers(body, [['stream']]), {
      anthropic_version: (before) => before ?? version ?? VERSION,
      ...(betas.length > 0 && { anthropic_beta: (before?: string) => before ?? JSON.stringify(betas) }),
    })
    return {
      path: `${base}/model/${encodeURIComponent(model)}/${operation}`,
      headers: headers.map((value) => (value === 'text/event-stream' ? EVENT_STREAM : value)),
      body: isCount ? counted(placed) : placed,
    }
  },

  headers: (headers) => ({ ...headers, 'request-id': headers['x-amzn-requestid'] as string | undefined }),

  openStream: (headers): StreamDecoder | null =>
    headers['content-type']?.startsWith(EVENT_STREAM) ? new EventStreamDecoder(eventOf) : null,

  // ModelErrorException, which means that the model itself failed.
  movesOn: [424],

  whole(status, headers, text) {
    const json = parsed(text)
    if (status < 400)
      return typeof json.inputTokens === 'number' ? JSON.stringify({ input_tokens: json.inputTokens }) : null
    const message = json.message ?? json.Message
    return typeof message === 'string'
      ? messagesError(typeOf(String(headers['x-amzn-errortype'] ?? ''), status), message)
      : null
  },
} satisfies Platform

/** Wraps a request for counting its tokens. Bedrock counts only requests that InvokeModel would accept. */
const counted = (body: string): string => {
  const complete = spliceMembers(body, { max_tokens: (before) => before ?? '1' })
  return JSON.stringify({ input: { invokeModel: { body: Buffer.from(complete).toString('base64') } } })
}

/** Converts a message to a server-sent event. A message is an exception or a part of the answer in base64. */
function eventOf(headers: ReadonlyMap<string, string>, body: Buffer): string {
  const json = parsed(body.toString('utf8'))
  const exception = headers.get(':exception-type') ?? headers.get(':error-code')
  if (exception !== undefined) {
    const message = json.message ?? headers.get(':error-message') ?? exception
    return `event: error\ndata: ${messagesError(typeOf(exception, 500), textOf(message))}\n\n`
  }
  if (typeof json.bytes !== 'string') return ''
  const data = Buffer.from(json.bytes, 'base64').toString('utf8')
  return `event: ${parsed(data).type}\ndata: ${data}\n\n`
}

/** Error types by AWS's names without `Exception`. In streams the names begin with a small letter. */
const TYPES: Readonly<Record<string, ErrorType>> = {
  validation: 'invalid_request_error',
  accessdenied: 'permission_error',
  expiredtoken: 'authentication_error',
  unrecognizedclient: 'authentication_error',
  invalidsignature: 'authentication_error',
  incompletesignature: 'authentication_error',
  missingauthenticationtoken: 'authentication_error',
  resourcenotfound: 'not_found_error',
  throttling: 'rate_limit_error',
  servicequotaexceeded: 'rate_limit_error',
  modelnotready: 'overloaded_error',
  serviceunavailable: 'overloaded_error',
  modeltimeout: 'timeout_error',
  modelerror: 'api_error',
}

function typeOf(exception: string, status: number): ErrorType {
  const [name = ''] = exception.split(':', 1)
  const other = status < 500 ? 'invalid_request_error' : 'api_error'
  return TYPES[name.replace(/Exception$/, '').toLowerCase()] ?? other
}

function parsed(text: string): Readonly<Record<string, unknown>> {
  try {
    const json: unknown = JSON.parse(text)
    return isObject(json) ? json : {}
  } catch {
    return {}
  }
}

/** Maximum bytes of a message. AWS limits a message's body to 16 MiB. */
const MAX_MESSAGE_BYTES = 17 * 2 ** 20

/** Size of the length field at the start of a message, and of the shortest message, in bytes. */
const LENGTH_BYTES = 4
const MIN_MESSAGE_BYTES = 16

const load = createRequire(import.meta.url)

class EventStreamDecoder implements StreamDecoder {
  readonly #textOf: (headers: ReadonlyMap<string, string>, body: Buffer) => string
  readonly #codec: EventStreamCodec
  readonly #begun = new BytePieces()
  /** Length of the message that has begun; null until it is known. */
  #length: number | null = null

  /** `textOf`: returns the text of a message from its text headers and its body. */
  constructor(textOf: (headers: ReadonlyMap<string, string>, body: Buffer) => string) {
    this.#textOf = textOf
    const library = load('@smithy/eventstream-codec') as { EventStreamCodec: typeof EventStreamCodec }
    const [toUtf8, fromUtf8] = [
      (bytes: Uint8Array | string) => Buffer.from(bytes as Uint8Array).toString('utf8'),
      (text: string) => Buffer.from(text, 'utf8'),
    ]
    this.#codec = new library.EventStreamCodec(toUtf8, fromUtf8)
  }

  push(chunk: Buffer): Buffer {
    this.#begun.add(chunk)
    let text = ''
    for (let message = this.#next(); message !== null; message = this.#next()) text += this.#text(message)
    return Buffer.from(text)
  }

  /** Returns the next complete message; null if there is none. */
  #next(): Buffer | null {
    if (this.#begun.length < (this.#length ?? LENGTH_BYTES)) return null
    this.#length ??= this.#begun.joined().readUInt32BE(0)
    const length = this.#length
    if (length < MIN_MESSAGE_BYTES || length > MAX_MESSAGE_BYTES)
      throw new Error(`an event stream with a message of ${length} bytes`)
    if (this.#begun.length < length) return null
    const all = this.#begun.joined()
    this.#begun.clear()
    if (all.length > length) this.#begun.add(all.subarray(length))
    this.#length = null
    return all.subarray(0, length)
  }

  #text(message: Buffer): string {
    const { headers, body } = this.#codec.decode(message)
    const texts = Object.entries(headers).flatMap(([name, { type, value }]): [string, string][] =>
      type === 'string' ? [[name, value]] : [],
    )
    return this.#textOf(new Map(texts), Buffer.from(body))
  }
}

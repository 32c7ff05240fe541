// Reads a JSON request body within its limit, and says early what is wrong with it.
import { isUtf8 } from 'node:buffer'
import type { IncomingMessage } from 'node:http'
import { GatewayError } from '../errors.ts'

export interface JsonBody {
  readonly text: string
  readonly json: Record<string, unknown>
}

/** How much of a body that is too large is taken before the connection is cut, bytes. */
const DISCARD = 64 * 2 ** 20

/**
 * Values that a body may hold; an empty list or object counts twice. Every other call waits while they are parsed, and
 * 20 MiB of brackets or of names take seconds; a conversation of a million tokens has some ten thousands of them.
 */
const MOST_VALUES = 250_000

/**
 * Throws `unsupported_media_type`, `body_too_large` (before the body is read whole, or before it is parsed, where it
 * holds too many values), `invalid_json`, `client_closed`.
 */
export async function readJson(request: IncomingMessage, limit: number): Promise<JsonBody> {
  const { headers } = request
  const type = headers['content-type']
  if (type !== undefined && !/^application\/(json|[\w.-]+\+json)\s*(;|$)/i.test(type))
    throw new GatewayError(
      'unsupported_media_type',
      `Content-Type must be application/json, not ${JSON.stringify(type.slice(0, 100))}.`,
    )
  if (headers['content-encoding'] !== undefined && headers['content-encoding'] !== 'identity')
    throw new GatewayError(
      'unsupported_media_type',
      'Compressed request bodies are not taken; send the body as it is.',
    )
  if (Number(headers['content-length']) > limit) throw tooLarge(limit)

  const bytes = await collect(request, limit)
  if (!isUtf8(bytes)) throw new GatewayError('invalid_json', 'The body is not UTF-8.')
  if (holdsMoreThan(MOST_VALUES, bytes))
    throw new GatewayError(
      'body_too_large',
      `The body holds more than ${MOST_VALUES} JSON values (an empty list or object counts twice); every other call would wait while they are read.`,
    )
  const text = bytes.toString('utf8')
  let json: unknown
  try {
    json = JSON.parse(text)
  } catch {
    // The parser's own message quotes the body, so it is not passed on.
    throw new GatewayError(
      'invalid_json',
      text === '' ? 'The body is empty; send a JSON object.' : 'The body is not valid JSON.',
    )
  }
  if (typeof json !== 'object' || json === null || Array.isArray(json))
    throw new GatewayError('invalid_request', 'The body must be a JSON object.')
  return { text, json: json as Record<string, unknown> }
}

const tooLarge = (limit: number) =>
  new GatewayError(
    'body_too_large',
    `The body is larger than ${limit} bytes; the operator can raise server.body_limit.`,
  )

const [QUOTE, BACKSLASH, COMMA, BRACKET, BRACE] = Buffer.from('"\\,[{')

/** Whether a JSON text holds more values than that: commas and openings. Goes once over its bytes. */
function holdsMoreThan(most: number, json: Buffer): boolean {
  if (json.length <= most) return false // a value takes a byte at least
  let values = 1
  let inString = false
  for (let at = 0; at < json.length; at++) {
    const byte = json[at]
    if (byte === QUOTE) inString = !inString
    else if (inString) at += byte === BACKSLASH ? 1 : 0
    else if ((byte === COMMA || byte === BRACKET || byte === BRACE) && ++values > most) return true
  }
  return false
}

function collect(request: IncomingMessage, limit: number): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = []
    let size = 0
    request.on('data', (chunk: Buffer) => {
      size += chunk.length
      if (size <= limit) {
        chunks.push(chunk)
        return
      }
      // The rest is read and dropped: a client that is still sending would not see the answer otherwise.
      chunks.length = 0
      reject(tooLarge(limit))
      if (size > limit + DISCARD) request.destroy()
    })
    request.on('end', () => resolve(chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks)))
    const gone = () => reject(new GatewayError('client_closed', 'The client went away.'))
    request.on('error', gone)
    request.on('close', () => {
      if (!request.complete) gone()
    })
  })
}

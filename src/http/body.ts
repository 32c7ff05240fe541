// Reads a JSON request body within its limit, and reports problems as early as possible.
import { isUtf8 } from 'node:buffer'
import type { IncomingMessage } from 'node:http'
import { asGatewayError, GatewayError } from '../core/errors.ts'
import { refuseRepeated } from '../json/decisive-members.ts'
import { plainNames } from '../json/plain-names.ts'
import { on, REPORTED } from '../shared/boundary.ts'
import { holdsMoreValues } from '../shared/bounded-json.ts'
import { inTurn, LARGE_BYTES } from '../shared/turns.ts'
import type { CallSlot } from './call-slots.ts'
import { decodedBody, MAX_DISCARDED_BYTES, tooLarge } from './decoded-body.ts'
import { areTiny } from './pieces.ts'

export interface JsonBody {
  /** Names of members have no needless escapes. */
  readonly text: string
  readonly json: Record<string, unknown>
}

/**
 * Maximum number of values in a body; an empty list or object counts twice. Parsing blocks every other call,
 * and 20 MiB of brackets or names take seconds. A conversation of a million tokens has some ten thousand
 * values.
 */
export const MAX_VALUES = 250_000

/** Receives either a body or an error, once. */
export interface BodyTaker {
  body(body: JsonBody): void
  refuse(error: unknown): void
}

/**
 * Reads the body of a request for `taker`. Refuses with `unsupported_media_type`, `body_too_large`, `overloaded`,
 * `invalid_json` or `client_closed`. A body that is too large is refused before it is fully read. A body with too
 * many values is refused before it is parsed. A compressed body is decoded; the limit holds before and after.
 */
export function readJson(request: IncomingMessage, limit: number, slot: CallSlot, taker: BodyTaker): void {
  refuseByHeaders(request, limit)
  const refuse = taker.refuse.bind(taker)
  const read = (bytes: Buffer) => {
    let body: JsonBody
    try {
      if (request.socket.destroyed) throw new GatewayError('client_closed', 'The client disconnected.')
      body = parse(bytes)
    } catch (error) {
      refuse(error)
      return
    }
    taker.body(body)
  }
  const complete = (bytes: Buffer) => {
    if (bytes.length < LARGE_BYTES) read(bytes)
    else inTurn(slot.keyName, () => read(bytes), refuse)
  }
  collect(request, limit, slot, complete, refuse)
}

/** Throws if the headers alone show that the body is unusable. */
function refuseByHeaders({ headers }: IncomingMessage, limit: number): void {
  const type = headers['content-type']
  if (type !== undefined && type !== 'application/json' && !JSON_TYPE.test(type))
    throw new GatewayError(
      'unsupported_media_type',
      `Content-Type must be application/json, not ${JSON.stringify(type.slice(0, 100))}.`,
    )
  // A web page may send a POST without a content type to any address, without a preflight.
  if (type === undefined && headers.origin !== undefined)
    throw new GatewayError(
      'unsupported_media_type',
      'A request with an Origin must have the Content-Type application/json.',
    )
  if (Number(headers['content-length']) > limit) throw tooLarge(limit)
}

const JSON_TYPE = /^application\/(json|[\w.-]+\+json)\s*(;|$)/i

function parse(bytes: Buffer): JsonBody {
  if (!isUtf8(bytes)) throw new GatewayError('invalid_json', 'The body is not UTF-8.')
  if (holdsMoreValues(bytes, MAX_VALUES))
    throw new GatewayError(
      'body_too_large',
      `The body contains more than ${MAX_VALUES} JSON values (an empty list or object counts twice). Send fewer: every other call would wait while they are read.`,
    )
  let text = bytes.toString('utf8')
  let json: unknown
  try {
    json = JSON.parse(text)
    const plain = plainNames(text)
    if (plain !== text) {
      text = plain
      json = JSON.parse(text)
    }
  } catch {
    // The parser's own message quotes the body, so it is not included.
    throw new GatewayError(
      'invalid_json',
      text === '' ? 'The body is empty; send a JSON object.' : 'The body is not valid JSON.',
    )
  }
  if (typeof json !== 'object' || json === null || Array.isArray(json))
    throw new GatewayError('invalid_request', 'The body must be a JSON object.')
  refuseRepeated(text, json as Record<string, unknown>)
  return { text, json: json as Record<string, unknown> }
}

/**
 * Collects the pieces in one buffer as they arrive. Without this buffer, a body in one-byte pieces would take
 * a hundred times its size. The request and its listeners live as long as the call, so the listeners retain
 * nothing of the body.
 */
function collect(
  request: IncomingMessage,
  limit: number,
  slot: CallSlot,
  resolve: (bytes: Buffer) => void,
  reject: (error: GatewayError) => void,
): void {
  let body: Buffer | null = null
  let pieces = 0
  let size = 0
  let settled = false
  const refuse = (error: GatewayError) => {
    // The rest is read and dropped, because otherwise a client that is still sending would not see the answer.
    if (settled) return
    settled = true
    body = null
    if (source !== request) source.destroy()
    reject(error)
  }
  const gone = () => refuse(new GatewayError('client_closed', 'The client disconnected.'))
  const source = decodedBody(request, limit, slot)
  const listeners = {
    data(chunk: Buffer) {
      const before = size
      size += chunk.length
      if (areTiny(++pieces, size)) request.destroy()
      if (size > limit) refuse(tooLarge(limit))
      if (settled) {
        if (size > limit + MAX_DISCARDED_BYTES) request.destroy()
        return
      }
      const room = body?.length ?? 0
      if (size > room) {
        const wanted = room === 0 ? size : Math.min(Math.max(2 * room, size), limit)
        slot.hold(wanted - room, refuse)
        if (settled) return
        const larger = room === 0 ? chunk : Buffer.allocUnsafe(wanted)
        body?.copy(larger, 0, 0, before)
        body = larger
      }
      if (before > 0) chunk.copy(body!, before)
    },
    error: (error: Error) => (error instanceof GatewayError ? refuse(error) : gone()),
    close() {
      if (!request.complete) gone()
    },
    end() {
      if (settled) return
      settled = true
      const bytes = body?.subarray(0, size) ?? Buffer.alloc(0)
      body = null
      slot.complete()
      resolve(bytes)
    },
  }
  on(source, listeners, (cause) => {
    if (settled) return
    refuse(asGatewayError(cause))
    return REPORTED
  })
}

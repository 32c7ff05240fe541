// Reads a JSON request body within its limit, also a compressed one, and reports problems as early as possible. Detects a body
// in tiny pieces: each piece costs as much as a large one, and 20 MiB of them block the gateway for minutes.
import { isUtf8 } from 'node:buffer'
import type { IncomingMessage } from 'node:http'
import { type Readable, Transform } from 'node:stream'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import {
  constants,
  createBrotliDecompress,
  createGunzip,
  createInflate,
  createInflateRaw,
  createZstdDecompress,
} from 'node:zlib'
import { asGatewayError, GatewayError } from '../core/errors.ts'
import { plainNames, refuseRepeated } from '../json/plain-names.ts'
import { on, once, REPORTED } from '../shared/boundary.ts'
import { holdsMoreValues } from '../shared/bounded.ts'
import { BytePieces } from '../shared/byte-pieces.ts'
import { REQUEST_WEIGHT } from '../shared/memory.ts'
import { inTurn, LARGE_BYTES } from '../shared/turns.ts'
import type { CallSlot } from './call-slots.ts'

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
  /** `bytes`: the text in UTF-8; null if it is not as it was received. */
  onBody(body: JsonBody, bytes: Buffer | null): void
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
    let received: string
    try {
      if (request.socket.destroyed) throw new GatewayError('client_closed', 'The client disconnected.')
      received = textOf(bytes)
      body = parse(received)
    } catch (error) {
      refuse(error)
      return
    }
    taker.onBody(body, body.text === received ? bytes : null)
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

function textOf(bytes: Buffer): string {
  if (!isUtf8(bytes)) throw new GatewayError('invalid_json', 'The body is not UTF-8.')
  if (holdsMoreValues(bytes, MAX_VALUES))
    throw new GatewayError(
      'body_too_large',
      `The body contains more than ${MAX_VALUES} JSON values (an empty list or object counts twice). Send fewer: every other call would wait while they are read.`,
    )
  return bytes.toString('utf8')
}

function parse(text: string): JsonBody {
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
 * Collects the pieces as they arrive, and joins them once. The request and its listeners live as long as the call, so
 * the listeners retain nothing of the body.
 */
function collect(
  request: IncomingMessage,
  limit: number,
  slot: CallSlot,
  resolve: (bytes: Buffer) => void,
  reject: (error: GatewayError) => void,
): void {
  let body: Buffer | BytePieces | null = null
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
      size += chunk.length
      if (areTiny(++pieces, size)) request.destroy()
      if (size > limit) refuse(tooLarge(limit))
      if (settled) {
        if (size > limit + MAX_DISCARDED_BYTES) request.destroy()
        return
      }
      slot.hold(chunk.length, refuse)
      if (settled) return
      if (body === null) body = chunk
      else {
        if (!(body instanceof BytePieces)) {
          const first = body
          body = new BytePieces()
          body.add(first)
        }
        body.add(chunk)
      }
    },
    error: (error: Error) => (error instanceof GatewayError ? refuse(error) : gone()),
    close() {
      if (!request.complete) gone()
    },
    end() {
      if (settled) return
      settled = true
      const bytes = body instanceof BytePieces ? body.joined() : (body ?? Buffer.alloc(0))
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

/** Bytes of an unwanted body that are read before the connection is cut. */
export const MAX_DISCARDED_BYTES = 64 * 2 ** 20

/** Largest window of zstd, as a power of 2. Encoders use larger windows only on request. */
const ZSTD_WINDOW_LOG = 23

interface Coding {
  readonly create: (first: Buffer) => Transform
  /** Memory of the decoder. */
  readonly bytes: number
}

const CODINGS: Readonly<Record<string, Coding>> = {
  gzip: { create: () => createGunzip(), bytes: 2 ** 16 },
  'x-gzip': { create: () => createGunzip(), bytes: 2 ** 16 },
  // Some clients send deflate without the header of zlib.
  deflate: {
    create: (first) => (hasZlibHeader(first) ? createInflate() : createInflateRaw()),
    bytes: 2 ** 16,
  },
  br: { create: () => createBrotliDecompress(), bytes: 2 ** 24 },
  zstd: {
    create: () => createZstdDecompress({ params: { [constants.ZSTD_d_windowLogMax]: ZSTD_WINDOW_LOG } }),
    bytes: 2 ** ZSTD_WINDOW_LOG,
  },
}

const MAX_CODINGS = 3

const hasZlibHeader = (bytes: Buffer): boolean =>
  bytes.length < 2 || ((bytes[0]! & 0x0f) === 8 && bytes.readUInt16BE(0) % 31 === 0)

/** Returns the codings of a request in the order in which they were applied. Throws `unsupported_media_type`. */
function codingsOf({ headers }: Pick<IncomingMessage, 'headers'>): readonly string[] {
  const names = (headers['content-encoding'] ?? '')
    .split(',')
    .map((each) => each.trim().toLowerCase())
    .filter((each) => each !== '' && each !== 'identity')
  const unknown = names.find((each) => !Object.hasOwn(CODINGS, each))
  if (unknown !== undefined)
    throw new GatewayError(
      'unsupported_media_type',
      `Content-Encoding may be gzip, deflate, br or zstd, not ${JSON.stringify(unknown.slice(0, 100))}.`,
    )
  if (names.length > MAX_CODINGS)
    throw new GatewayError(
      'unsupported_media_type',
      `Content-Encoding has ${names.length} codings; at most ${MAX_CODINGS} are decoded.`,
    )
  return names
}

const tooLarge = (limit: number) =>
  new GatewayError(
    'body_too_large',
    `The body is larger than ${limit} bytes; the operator can raise server.body_limit.`,
  )

/**
 * Returns the decoded body of a request: the request itself if it is not compressed. The stream fails with a
 * GatewayError if the body is invalid or larger than `limit`, before or after decoding.
 */
export function decodedBody(request: IncomingMessage, limit: number, slot: CallSlot): Readable {
  const names = codingsOf(request)
  return names.length === 0 ? request : new Decoding(request, names.toReversed(), limit, slot).body
}

class Decoding {
  /** The decoded body. */
  readonly body: Transform
  readonly #request: IncomingMessage
  readonly #names: readonly string[]
  readonly #limit: number
  readonly #slot: CallSlot
  readonly #bytes: number
  #decoders: readonly Transform[] | null = null
  #pieces = 0
  #received = 0
  #dropped: number | null = null

  constructor(request: IncomingMessage, names: readonly string[], limit: number, slot: CallSlot) {
    this.#request = request
    this.#names = names
    this.#limit = limit
    this.#slot = slot
    this.body = this.#counted()
    this.#bytes = Math.ceil(names.reduce((sum, name) => sum + CODINGS[name]!.bytes, 0) / REQUEST_WEIGHT)
    const listeners = {
      data: (piece: Buffer) => this.#take(piece),
      end: () => (this.#decoders?.[0] ?? this.body).end(),
      error: () => this.body.destroy(),
      close: () => {
        if (!request.complete) this.body.destroy()
      },
    }
    on(request, listeners, (cause) => this.#fail(asGatewayError(cause)))
    // Also destroyed by a reader that wants no more of it.
    on(this.body, { close: () => this.#drop() }, (cause) => this.#fail(asGatewayError(cause)))
  }

  #take(piece: Buffer): void {
    if (this.#dropped !== null) {
      this.#dropped += piece.length
      if (this.#dropped > MAX_DISCARDED_BYTES) this.#request.destroy()
      return
    }
    this.#received += piece.length
    if (areTiny(++this.#pieces, this.#received)) this.#request.destroy()
    else if (this.#received > this.#limit) this.#fail(tooLarge(this.#limit))
    else {
      this.#decoders ??= this.#begin(piece)
      const [first] = this.#decoders
      if (!first || first.write(piece)) return
      this.#request.pause()
      once(
        first,
        'drain',
        () => this.#request.resume(),
        (cause) => this.#fail(asGatewayError(cause)),
      )
    }
  }

  /** Makes the decoders when the first bytes have arrived. */
  #begin(first: Buffer): readonly Transform[] {
    let refused = false
    this.#slot.hold(this.#bytes, (error) => {
      refused = true
      this.#fail(error)
    })
    if (refused) return []
    const decoders = this.#names.map((name, at) => CODINGS[name]!.create(at === 0 ? first : Buffer.alloc(0)))
    for (const [at, decoder] of decoders.entries()) {
      const invalid = () =>
        this.#fail(
          new GatewayError(
            'invalid_request',
            `The body is not valid ${this.#names[at]}, as its Content-Encoding says; it may be cut off.`,
          ),
        )
      on(decoder, { error: invalid }, (cause) => this.#fail(asGatewayError(cause)))
      const next = decoders[at + 1]
      if (next) decoder.pipe(this.#counted()).pipe(next)
      else decoder.pipe(this.body)
    }
    return decoders
  }

  /** Returns a stream that passes on at most `limit` bytes. */
  #counted(): Transform {
    let size = 0
    return new Transform({
      transform: (piece: Buffer, _, done) => {
        size += piece.length
        if (size > this.#limit) this.#fail(tooLarge(this.#limit))
        else done(null, piece)
      },
    })
  }

  #fail(error: GatewayError): void {
    this.body.destroy(error)
  }

  /** Ends the decoders. The rest of the body is read and dropped, so that a client that is still sending sees the answer. */
  #drop(): void {
    if (this.#dropped !== null) return
    this.#dropped = 0
    for (const each of this.#decoders ?? []) each.destroy()
    if (this.#decoders) this.#slot.give(this.#bytes)
    this.#request.resume()
  }
}

/** Number of pieces accepted from any client, because an encoder may write each token separately. */
const FREE_PIECES = 10_000
/** Minimum average size of later pieces, bytes. */
const MIN_AVERAGE_BYTES = 64
/** Maximum bytes of an unwanted body that are read and dropped. */
const MAX_UNWANTED_BYTES = 2 ** 20

/** Returns true if a body arrives in pieces that are too small, so that its connection must be cut. */
export const areTiny = (pieces: number, bytes: number): boolean =>
  pieces > FREE_PIECES && bytes < pieces * MIN_AVERAGE_BYTES

/** Reads and drops an unwanted body, which would otherwise take memory. A large body ends the connection. */
export function dropBody(request: IncomingMessage): void {
  const { headers } = request
  if (headers['transfer-encoding'] === undefined && headers['content-length'] === undefined) return
  let pieces = 0
  let bytes = 0
  const data = (piece: Buffer) => {
    bytes += piece.length
    if (bytes > MAX_UNWANTED_BYTES || areTiny(++pieces, bytes)) request.destroy()
  }
  on(request, { data }, () => request.destroy())
}

/**
 * Relayed bytes after which the young generation is collected, which takes about a millisecond for 16 MiB.
 */
const MAX_UNCOLLECTED_BYTES = 16 * 2 ** 20

let collectYoung: (() => void) | null = null
let uncollectedBytes = 0

/** Enables collections, for a program that owns its process. */
export function collectPieces(): void {
  setFlagsFromString('--expose-gc')
  const gc: (options: { type: 'minor' }) => void = runInNewContext('gc')
  collectYoung = () => gc({ type: 'minor' })
}

/**
 * Counts a piece that was relayed. Its bytes are outside V8's heap, and V8 allows 64 MiB of them before it collects
 * garbage. Frees nothing without a collector, as in a program that runs a gateway in its own process.
 */
export function countPiece(bytes: number): void {
  uncollectedBytes += bytes
  if (uncollectedBytes < MAX_UNCOLLECTED_BYTES) return
  uncollectedBytes = 0
  collectYoung?.()
}

// Decodes a request body that its client compressed. Bounds what arrives and what every coding decodes to, so that a
// small body cannot become a large one. Takes the memory of the decoders from the account of the call.
import type { IncomingMessage } from 'node:http'
import { type Readable, Transform } from 'node:stream'
import {
  constants,
  createBrotliDecompress,
  createGunzip,
  createInflate,
  createInflateRaw,
  createZstdDecompress,
} from 'node:zlib'
import { asGatewayError, GatewayError } from '../core/errors.ts'
import { on, once } from '../shared/boundary.ts'
import { REQUEST_WEIGHT } from '../shared/memory.ts'
import type { CallSlot } from './call-slots.ts'
import { areTiny } from './pieces.ts'

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

export const tooLarge = (limit: number) =>
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

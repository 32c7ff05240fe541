// AWS's event stream (application/vnd.amazon.eventstream). Splits a stream into messages and converts each
// message to text. AWS's library checks and decodes messages; it is loaded for the first stream. Independent
// of the dialect.
import { createRequire } from 'node:module'
import type { EventStreamCodec } from '@smithy/eventstream-codec'
import type { StreamDecoder } from '../dialects/platform.ts'
import { BytePieces } from '../shared/byte-pieces.ts'

/** Maximum bytes of a message. AWS limits a message's body to 16 MiB. */
const MAX_MESSAGE_BYTES = 17 * 2 ** 20

/** Size of the length field at the start of a message, and of the shortest message, in bytes. */
const LENGTH_BYTES = 4
const MIN_MESSAGE_BYTES = 16

const load = createRequire(import.meta.url)

export class EventStreamDecoder implements StreamDecoder {
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

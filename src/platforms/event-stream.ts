// AWS's event stream (application/vnd.amazon.eventstream). Splits a stream into messages and converts each
// message to text. AWS's library checks and decodes messages; it is loaded for the first stream. Independent
// of the dialect.
import { createRequire } from 'node:module'
import type { EventStreamCodec } from '@smithy/eventstream-codec'
import type { StreamDecoder } from './platform.ts'

/** Maximum bytes of a message. AWS limits a message's body to 16 MiB. */
const MAX_MESSAGE_BYTES = 17 * 2 ** 20

/** Size of the length field at the start of a message, and of the shortest message, in bytes. */
const LENGTH_BYTES = 4
const MIN_MESSAGE_BYTES = 16

const load = createRequire(import.meta.url)

export class EventStreamDecoder implements StreamDecoder {
  readonly #textOf: (headers: ReadonlyMap<string, string>, body: Buffer) => string
  readonly #codec: EventStreamCodec
  #begun: Buffer[] = []
  #size = 0

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
    this.#begun.push(chunk)
    this.#size += chunk.length
    let text = ''
    for (let message = this.#next(); message !== null; message = this.#next()) text += this.#text(message)
    return Buffer.from(text)
  }

  /** Returns the next complete message; null if there is none. */
  #next(): Buffer | null {
    if (this.#size < LENGTH_BYTES) return null
    const length = this.#joined(LENGTH_BYTES).readUInt32BE(0)
    if (length < MIN_MESSAGE_BYTES || length > MAX_MESSAGE_BYTES)
      throw new Error(`an event stream with a message of ${length} bytes`)
    if (this.#size < length) return null
    const all = this.#joined(length)
    this.#begun = all.length > length ? [all.subarray(length)] : []
    this.#size -= length
    return all.subarray(0, length)
  }

  /** Returns a first piece of at least `bytes`. Joins pieces only for a complete message. */
  #joined(bytes: number): Buffer {
    if (this.#begun[0]!.length < bytes) this.#begun = [Buffer.concat(this.#begun)]
    return this.#begun[0]!
  }

  #text(message: Buffer): string {
    const { headers, body } = this.#codec.decode(message)
    const texts = Object.entries(headers).flatMap(([name, { type, value }]): [string, string][] =>
      type === 'string' ? [[name, value]] : [],
    )
    return this.#textOf(new Map(texts), Buffer.from(body))
  }
}

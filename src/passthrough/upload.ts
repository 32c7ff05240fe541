// A request body in transit, decoded: first its beginning, then one piece after another. The next piece is read only
// when the previous one was accepted. Independent of the provider.
import type { Readable } from 'node:stream'
import { GatewayError } from '../core/errors.ts'
import { areTiny, countPiece } from '../http/body.ts'
import { after, on } from '../shared/boundary.ts'
import type { Timer } from '../shared/clock.ts'
import { MAX_HEAD_BYTES } from './head.ts'

/**
 * Maximum bytes that are read and dropped after an early answer, so that a client sees it while still
 * sending.
 */
const MAX_DISCARDED_BYTES = 64 * 2 ** 20

const GONE = new GatewayError('client_closed', 'The client disconnected.')
const SILENT =
  'The client sent no part of its body within resilience.idle; send the body without long pauses.'

/** Text in place of the bytes from `start` to `end` of the beginning. */
interface Splice {
  readonly start: number
  readonly end: number
  readonly bytes: Buffer
}

export class Upload {
  readonly #request: Readable
  readonly #idle: number
  #queue: Buffer[] = []
  #size = 0
  #pieces = 0
  #discarded: number | null = null
  #ended = false
  #failure: GatewayError | null = null
  #wake: () => void = () => {}
  #timer: Timer | null = null
  /** Bytes received from the client. */
  received = 0

  /** `idle`: maximum time for which the client may send nothing while a piece is awaited, ms. */
  constructor(request: Readable, idle: number) {
    this.#request = request
    this.#idle = idle
    const fail = () => this.#fail(GONE)
    const listeners = {
      data: (piece: Buffer) => this.#take(piece),
      end: () => {
        this.#ended = true
        this.#wake()
      },
      error: (error: Error) => this.#fail(error instanceof GatewayError ? error : GONE),
      close: () => {
        if (!this.#ended) fail()
      },
    }
    on(request, listeners, fail)
  }

  /** True if the body is complete and was accepted. */
  get isWhole(): boolean {
    return this.#ended && this.#queue.length === 0
  }

  /** True if the client disconnected before the end. */
  get isGone(): boolean {
    return this.#failure === GONE
  }

  /**
   * Returns the beginning of the body: all of it, or at least `MAX_HEAD_BYTES`. Rejects if the client
   * disconnects or sends nothing.
   */
  async head(): Promise<Buffer> {
    while (!this.#ended && this.#size < MAX_HEAD_BYTES) await this.#more()
    const head = Buffer.concat(this.#queue, this.#size)
    this.#queue = []
    this.#size = 0
    return head
  }

  /** Returns the rest of the body. Throws if the client disconnects or sends nothing. */
  async *rest(): AsyncGenerator<Buffer> {
    for (;;) {
      const piece = this.#queue.shift()
      if (piece) {
        this.#size -= piece.length
        yield piece
      } else if (this.#ended) return
      else await this.#more()
    }
  }

  /** Reads the rest of the body and drops it. */
  discard(): void {
    if (this.#ended) return
    this.#discarded = 0
    this.#queue = []
    this.#timer?.close() // no more data is expected
    this.#request.resume()
  }

  /** Waits for a piece or the end. Throws if the client disconnects or sends nothing. */
  async #more(): Promise<void> {
    if (this.#failure) throw this.#failure
    const woken = new Promise<void>((wake) => {
      this.#wake = wake
    })
    this.#request.resume()
    const late = () => this.#fail(new GatewayError('request_timeout', SILENT))
    this.#timer = after(this.#idle, late, late)
    await woken
    this.#timer.close()
    if (this.#failure) throw this.#failure
  }

  #take(piece: Buffer): void {
    this.received += piece.length
    countPiece(piece.length)
    if (this.#discarded !== null) {
      this.#discarded += piece.length
      if (this.#discarded > MAX_DISCARDED_BYTES) this.#request.destroy()
      return
    }
    if (areTiny(++this.#pieces, this.received)) {
      this.#request.destroy()
      return
    }
    this.#queue.push(piece)
    this.#size += piece.length
    this.#request.pause()
    this.#wake()
  }

  #fail(failure: GatewayError): void {
    this.#failure ??= failure
    this.#wake()
  }
}

/** Returns the bytes with a change applied. */
export const spliced = (bytes: Buffer, change: Splice | null): Buffer =>
  change ? Buffer.concat([bytes.subarray(0, change.start), change.bytes, bytes.subarray(change.end)]) : bytes

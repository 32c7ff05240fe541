// A connection inside this process. Sends a request to the gateway's server without the operating system; the
// server handles it like a request over a network. Independent of dialects.
import {
  type ClientRequest,
  type IncomingMessage,
  type OutgoingHttpHeaders,
  request,
  type Server,
} from 'node:http'
import { Duplex } from 'node:stream'
import { after, guarded, once } from '../shared/boundary.ts'
import type { Timer } from '../shared/clock.ts'

/**
 * One end of a connection. The other end reads the data that this end writes, and a reader that stops makes
 * the writer wait.
 */
class InnerSocket extends Duplex {
  /** WebSocket whose message caused the request. */
  readonly origin: object
  #peer: InnerSocket | null = null
  /** Completes the peer's write, which waits until this end reads. */
  #taken: (() => void) | null = null
  #timer: Timer | null = null

  private constructor(origin: object) {
    super()
    this.origin = origin
  }

  static pair(origin: object): [InnerSocket, InnerSocket] {
    const [one, other] = [new InnerSocket(origin), new InnerSocket(origin)]
    one.#peer = other
    other.#peer = one
    return [one, other]
  }

  override _read(): void {
    this.#timer?.refresh()
    const taken = this.#taken
    this.#taken = null
    taken?.()
  }

  override _write(chunk: Buffer, _: BufferEncoding, done: (error?: Error | null) => void): void {
    const peer = this.#peer!
    if (peer.destroyed) {
      done(Object.assign(new Error('the other end is closed'), { code: 'EPIPE' }))
      return
    }
    const taken = () => {
      this.#timer?.refresh()
      done()
    }
    // Deferred, as over a network: a writer learns that its write is done before it sees the reader's
    // reaction.
    const push = () => {
      if (peer.destroyed || peer.push(chunk)) taken()
      else peer.#taken = taken
    }
    process.nextTick(guarded(push, this.#broken))
  }

  override _final(done: () => void): void {
    setImmediate(guarded(() => this.#peer!.push(null), this.#broken))
    done()
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    this.#timer?.close()
    done(error)
    // The other end still reads what was written, as over a network.
    if (this.writableFinished && !error) return
    // Runs after all work that this turn began.
    const endPeer = () => void this.#peer!.destroy()
    setImmediate(guarded(endPeer, endPeer))
  }

  /** Ends the socket once everything is written, as a network socket does. */
  destroySoon(): void {
    this.end(() => this.destroy())
  }

  resetAndDestroy(): void {
    this.destroy()
  }

  readonly #broken = () => void this.destroy()

  /** Emits `timeout` after `ms` without progress, as a socket does; 0 for never. */
  setTimeout(ms: number, listener?: () => void): this {
    this.#timer?.close()
    this.#timer = ms > 0 ? after(ms, () => this.emit('timeout'), this.#broken).unref() : null
    if (listener) once(this, 'timeout', listener, this.#broken)
    return this
  }
}

interface InnerRequest {
  readonly method: string
  readonly path: string
  readonly headers: OutgoingHttpHeaders
  readonly body: string
  /** WebSocket whose message caused the request. */
  readonly origin: object
}

/** Sends a request to a server of this process. Emits `response` or `error`, as any request does. */
export function requestInside(
  server: Server,
  { method, path, headers, body, origin }: InnerRequest,
): ClientRequest {
  const [ours, theirs] = InnerSocket.pair(origin)
  const outgoing = request({ method, path, headers, createConnection: () => ours })
  server.emit('connection', theirs)
  outgoing.end(body)
  return outgoing
}

/** Returns the WebSocket whose message caused a request; null for a request over a network. */
export const originOf = ({ socket }: IncomingMessage): object | null =>
  (socket as unknown) instanceof InnerSocket ? (socket as unknown as InnerSocket).origin : null

// Connections of a simulation: the gateway has a socket, the simulation has the other end. Bytes travel in later turns of
// the event loop, or later in virtual time. When the gateway dies, some of what it wrote still arrives. Also reads HTTP.
import type { Server } from 'node:http'
import { Duplex } from 'node:stream'
import type { Sockets } from '../../src/gateway/options.ts'
import { clock, type Timer } from '../../src/shared/clock.ts'
import type { Dice } from './machine.ts'

/** Bytes that a connection holds for a reader that stalls, before the writer must wait. */
const WINDOW = 2 ** 16

/** What the simulation hears of its end. */
export interface FarListener {
  data(bytes: Buffer): void
  /** The gateway writes no more. */
  end(): void
  /** The connection is gone. */
  gone(): void
}

/** The simulation's end of a connection. */
export class FarEnd {
  listener!: FarListener
  isStalled = false
  isOpen = true
  readonly #delay: number
  readonly socket: GatewaySocket
  #underway: (Buffer | null)[] = []
  #bytes = 0
  #waiting: (() => void)[] = []
  #isScheduled = false

  constructor(port: number, delay: number) {
    this.#delay = delay
    this.socket = new GatewaySocket(this, port)
  }

  /** Sends bytes to the gateway; null ends the sending side. */
  send(bytes: Buffer | string | null): void {
    if (this.isOpen) this.socket.arrive(bytes === null ? null : Buffer.from(bytes))
  }

  /** Ends the connection; `reset`: as a reset. */
  cut(reset: boolean): void {
    if (!this.isOpen) return
    this.isOpen = false
    this.socket.lose(reset)
    this.listener.gone()
  }

  /** True if the gateway waits for a reader that stalls. */
  get isBlocked(): boolean {
    return this.isStalled && this.isOpen && this.#waiting.length > 0 && !this.socket.destroyed
  }

  /** Bytes that the gateway holds for a reader that stalls. */
  get unread(): number {
    return this.isStalled && this.isOpen && !this.socket.destroyed ? this.socket.writableLength : 0
  }

  stall(isStalled: boolean): void {
    this.isStalled = isStalled
    if (!isStalled) this.#schedule()
  }

  /** Takes bytes of the gateway; null: it writes no more. */
  take(bytes: Buffer | null, done: () => void): void {
    this.#underway.push(bytes)
    this.#bytes += bytes?.length ?? 0
    if (this.#bytes < WINDOW) done()
    else this.#waiting.push(done)
    this.#schedule()
  }

  /** The gateway has closed its socket. What has left it still arrives; what waited for a reader is lost. */
  close(): void {
    if (this.#waiting.length > 0) {
      const left = Buffer.concat(this.#underway.filter((each) => each !== null)).subarray(0, WINDOW)
      this.#underway = [left]
    }
    this.stall(false)
    this.#later(() => this.#gone())
  }

  /** The gateway has died: a part of what it wrote arrives, then the connection is gone. */
  sever(dice: Dice): void {
    const all = Buffer.concat(this.#underway.filter((each) => each !== null))
    const part = dice.weighted([
      [all.length, 4],
      [0, 3],
      [dice.int(all.length + 1), 1],
    ])
    this.#underway = part > 0 ? [all.subarray(0, part)] : []
    this.isStalled = false
    this.#deliver()
    this.#gone()
  }

  #gone(): void {
    if (!this.isOpen) return
    this.isOpen = false
    this.listener.gone()
  }

  #later(work: () => void): void {
    if (this.#delay > 0) clock.after(this.#delay, work)
    else setImmediate(work)
  }

  #schedule(): void {
    if (this.#isScheduled) return
    this.#isScheduled = true
    this.#later(() => this.#deliver())
  }

  #deliver(): void {
    this.#isScheduled = false
    if (this.isStalled) return
    const underway = this.#underway
    this.#underway = []
    this.#bytes = 0
    for (const bytes of underway) {
      if (!this.isOpen) break
      if (bytes === null) this.listener.end()
      else this.listener.data(bytes)
    }
    for (const done of this.#waiting.splice(0)) done()
  }
}

/** The gateway's end of a connection, as a socket of Node. */
class GatewaySocket extends Duplex {
  readonly remoteAddress = '127.0.0.1'
  readonly remotePort: number
  /** True once the gateway that has this socket is dead: it no longer reaches anything. */
  isDead = false
  readonly #far: FarEnd
  #arrived: (Buffer | null)[] = []
  #isRead = false
  #timer: Timer | null = null
  #timeout = 0

  constructor(far: FarEnd, port: number) {
    super({ allowHalfOpen: true })
    this.#far = far
    this.remotePort = port
  }

  arrive(bytes: Buffer | null): void {
    this.#arrived.push(bytes)
    setImmediate(() => this.#pass())
  }

  lose(reset: boolean): void {
    setImmediate(() => {
      if (reset) this.destroy(Object.assign(new Error('read ECONNRESET'), { code: 'ECONNRESET' }))
      else {
        // A socket that was closed reads its end, and fails when it writes.
        this.#arrived.push(null)
        this.#pass()
      }
    })
  }

  #pass(): void {
    this.#active()
    while (this.#isRead && this.#arrived.length > 0 && !this.destroyed)
      this.#isRead = this.push(this.#arrived.shift()!)
  }

  override _read(): void {
    this.#isRead = true
    if (this.#arrived.length > 0) this.#pass()
  }

  override _write(bytes: Buffer, _: BufferEncoding, done: (error?: Error) => void): void {
    this.#active()
    if (this.isDead || bytes.length === 0)
      done() // the last write of an answer may have no bytes
    else if (!this.#far.isOpen) done(Object.assign(new Error('write EPIPE'), { code: 'EPIPE' }))
    else this.#far.take(bytes, done)
  }

  override _writev(chunks: { chunk: Buffer }[], done: (error?: Error) => void): void {
    this._write(Buffer.concat(chunks.map(({ chunk }) => chunk)), 'latin1', done)
  }

  override _final(done: () => void): void {
    if (this.isDead || !this.#far.isOpen) done()
    else this.#far.take(null, done)
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    this.#timer?.close()
    if (!this.isDead) this.#far.close()
    done(error)
  }

  destroySoon(): void {
    this.end(() => this.destroy())
  }

  resetAndDestroy(): void {
    this.destroy()
  }

  setTimeout(ms: number, listener?: () => void): this {
    this.#timer?.close()
    this.#timeout = ms
    this.#timer = ms > 0 ? clock.after(ms, () => this.emit('timeout')) : null
    if (listener) this.once('timeout', listener)
    return this
  }

  setNoDelay = (): this => this
  setKeepAlive = (): this => this
  ref = (): this => this
  unref = (): this => this

  #active(): void {
    if (this.#timeout > 0) this.#timer?.refresh()
  }
}

/** State of a provider's address. */
export type Reach = 'up' | 'refuses' | 'silent'

/** The network of one gateway. It dies with its gateway. */
export class Network {
  readonly #dice: Dice
  readonly #accept: (origin: string, far: FarEnd) => void
  readonly #reach: (origin: string) => Reach
  #server: Server | null = null
  #ports = 40_000
  readonly #ends = new Set<FarEnd>()
  #isDead = false

  constructor(dice: Dice, accept: (origin: string, far: FarEnd) => void, reach: (origin: string) => Reach) {
    this.#dice = dice
    this.#accept = accept
    this.#reach = reach
  }

  readonly sockets: Sockets = {
    listen: (server) => {
      this.#server = server
      const isOver = () =>
        [...this.#ends].every(({ socket }) => socket.destroyed || !this.#served.has(socket))
      server.close = (done) => {
        server.closeIdleConnections()
        const timer = clock.every(20, () => {
          server.closeIdleConnections()
          if (!isOver()) return
          timer.close()
          done?.()
        })
        return server
      }
      server.emit('listening')
      return 'http://127.0.0.1:4949'
    },
    connector:
      ({ timeout }) =>
      ({ protocol, hostname }, callback) => {
        const fail = (code: string) => callback(Object.assign(new Error(`connect ${code}`), { code }), null)
        const reach = this.#isDead ? 'refuses' : this.#reach(`${protocol}//${hostname}`)
        if (reach === 'refuses') setImmediate(() => fail('ECONNREFUSED'))
        else if (reach === 'silent') clock.after(timeout ?? 10_000, () => fail('UND_ERR_CONNECT_TIMEOUT'))
        else {
          const far = this.#open()
          this.#accept(`${protocol}//${hostname}`, far)
          setImmediate(() => callback(null, far.socket as never))
        }
      },
  }
  readonly #served = new Set<GatewaySocket>()

  /** Connects a client to the gateway. */
  connect(listener: (far: FarEnd) => FarListener): FarEnd {
    const far = this.#open()
    far.listener = listener(far)
    this.#served.add(far.socket)
    this.#server!.emit('connection', far.socket)
    return far
  }

  /** Nothing that the gateway does from now on reaches anybody. */
  die(): void {
    this.#isDead = true
    for (const { socket } of this.#ends) socket.isDead = true
  }

  /** After `die`: delivers a part of what was underway, and closes all connections. */
  sever(): void {
    for (const far of this.#ends) {
      far.sever(this.#dice)
      far.socket.destroy()
    }
    this.#ends.clear()
  }

  #open(): FarEnd {
    for (const each of this.#ends)
      if (!each.isOpen && each.socket.destroyed) {
        this.#ends.delete(each)
        this.#served.delete(each.socket)
      }
    const delay = this.#dice.weighted([
      [0, 8],
      [1 + this.#dice.int(40), 1],
    ])
    const far = new FarEnd(this.#ports++, delay)
    if (this.#isDead) far.socket.isDead = true
    this.#ends.add(far)
    return far
  }
}

/** A message of HTTP, as far as it has arrived. */
export interface Message {
  /** First line. */
  readonly start: string
  readonly headers: Readonly<Record<string, string>>
  body: string
  /** True if all of it has arrived. */
  isWhole: boolean
}

/** Reads the messages of a connection. */
export class HttpReader {
  #bytes: Buffer = Buffer.alloc(0)
  #message: Message | null = null
  #pieces: Buffer[] = []
  /** Bytes of the body, or of its present chunk, that have not arrived; null until the end of the connection. */
  #left: number | null = 0
  #isChunked = false
  readonly #began: (message: Message) => void
  readonly #ended: (message: Message) => void

  constructor(began: (message: Message) => void, ended: (message: Message) => void) {
    this.#began = began
    this.#ended = ended
  }

  /** The message that has begun and is not whole. */
  get open(): Message | null {
    return this.#message
  }

  feed(bytes: Buffer): void {
    this.#bytes = this.#bytes.length > 0 ? Buffer.concat([this.#bytes, bytes]) : bytes
    while (this.#message ? this.#body() : this.#head());
    if (this.#message) this.#message.body = Buffer.concat(this.#pieces).toString()
  }

  /** The connection has ended. */
  end(): void {
    if (this.#message && this.#left === null) this.#finish()
  }

  #head(): boolean {
    const end = this.#bytes.indexOf('\r\n\r\n')
    if (end < 0) return false
    const [start, ...lines] = this.#bytes.subarray(0, end).toString('latin1').split('\r\n')
    this.#bytes = this.#bytes.subarray(end + 4)
    if (/^HTTP\/1\.1 1\d\d/.test(start!)) return true
    const headers = Object.fromEntries(
      lines.map((line) => {
        const colon = line.indexOf(':')
        return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()]
      }),
    )
    const isAnswer = start!.startsWith('HTTP/')
    this.#isChunked = headers['transfer-encoding'] === 'chunked'
    this.#left = this.#isChunked ? 0 : Number(headers['content-length'] ?? (isAnswer ? Number.NaN : 0))
    if (Number.isNaN(this.#left)) this.#left = null
    if (isAnswer && / (204|304) /.test(start!)) this.#left = 0
    this.#message = { start: start!, headers, body: '', isWhole: false }
    this.#pieces = []
    this.#began(this.#message)
    return true
  }

  #body(): boolean {
    if (this.#isChunked && this.#left === 0) return this.#chunk()
    const part = this.#left === null ? this.#bytes : this.#bytes.subarray(0, this.#left)
    if (part.length > 0) this.#pieces.push(part)
    this.#bytes = this.#bytes.subarray(part.length)
    if (this.#left === null) return false
    this.#left -= part.length
    if (this.#left > 0) return false
    if (!this.#isChunked) return this.#finish()
    this.#isAfterChunk = true
    return true
  }
  #isAfterChunk = false

  #chunk(): boolean {
    if (this.#isAfterChunk) {
      if (this.#bytes.length < 2) return false
      this.#bytes = this.#bytes.subarray(2)
      this.#isAfterChunk = false
    }
    const end = this.#bytes.indexOf('\r\n')
    if (end < 0) return false
    const size = Number.parseInt(this.#bytes.subarray(0, end).toString('latin1'), 16)
    if (size === 0) {
      if (this.#bytes.length < end + 4) return false
      this.#bytes = this.#bytes.subarray(end + 4)
      return this.#finish()
    }
    this.#bytes = this.#bytes.subarray(end + 2)
    this.#left = size
    return true
  }

  #finish(): boolean {
    const message = this.#message!
    message.body = Buffer.concat(this.#pieces).toString()
    message.isWhole = true
    this.#message = null
    this.#ended(message)
    return this.#bytes.length > 0
  }
}

// WebSockets of a simulation's clients: the handshake, and messages in text. Independent of what the messages say.
import type { FarEnd, FarListener } from './network.ts'
import type { CallEvent } from './setup.ts'

const [TEXT, CLOSE, PING, PONG] = [1, 8, 9, 10]
/** Messages of one client's socket; a gateway allows 32 lanes, and each has its own. */
const MAX_ASKED = 24

export class ClientSocket implements FarListener {
  readonly far: FarEnd
  readonly key: CallEvent['key']
  /** The key in the handshake. */
  readonly secret: string
  asked = 0
  #isOpen = false
  #bytes: Buffer = Buffer.alloc(0)
  /** Work that waits for the handshake. */
  #waiting: (() => void)[] = []
  readonly #heard: (message: string) => void
  readonly #gone: () => void

  constructor(
    far: FarEnd,
    key: CallEvent['key'],
    secret: string,
    heard: (message: string) => void,
    gone: () => void,
  ) {
    this.far = far
    this.key = key
    this.secret = secret
    this.#heard = heard
    this.#gone = gone
  }

  get hasRoom(): boolean {
    return this.far.isOpen && !this.far.isStalled && this.asked < MAX_ASKED
  }

  /** Sends a message some times. */
  send(text: string, times = 1): void {
    const one = frame(TEXT, Buffer.from(text))
    const bytes = Buffer.concat(Array.from({ length: times }, () => one))
    this.whenOpen(() => this.far.send(bytes))
  }

  whenOpen(work: () => void): void {
    if (this.#isOpen) work()
    else this.#waiting.push(work)
  }

  data(bytes: Buffer): void {
    this.#bytes = Buffer.concat([this.#bytes, bytes])
    if (!this.#isOpen) this.#open()
    while (this.#isOpen && this.#next());
  }

  #open(): void {
    const end = this.#bytes.indexOf('\r\n\r\n')
    if (end < 0) return
    if (!this.#bytes.subarray(0, end).toString('latin1').startsWith('HTTP/1.1 101 ')) {
      this.far.cut(false)
      return
    }
    this.#isOpen = true
    this.#bytes = this.#bytes.subarray(end + 4)
    for (const work of this.#waiting.splice(0)) work()
  }

  /** Reads the next frame, if all of it has arrived. */
  #next(): boolean {
    const bytes = this.#bytes
    if (bytes.length < 2) return false
    const short = bytes[1]! & 127
    const head = short === 127 ? 10 : short === 126 ? 4 : 2
    if (bytes.length < head) return false
    const length =
      short === 127 ? Number(bytes.readBigUInt64BE(2)) : short === 126 ? bytes.readUInt16BE(2) : short
    if (bytes.length < head + length) return false
    this.#bytes = bytes.subarray(head + length)
    const content = bytes.subarray(head, head + length)
    const kind = bytes[0]! & 15
    if (kind === TEXT) this.#heard(content.toString())
    else if (kind === PING) this.far.send(frame(PONG, content))
    else if (kind === CLOSE) {
      this.far.send(frame(CLOSE, content))
      this.far.cut(false)
    }
    return true
  }

  end(): void {
    this.far.cut(false)
  }

  gone(): void {
    this.#gone()
  }
}

/** Returns a frame as clients send it, with a mask of zeros. */
function frame(kind: number, content: Buffer): Buffer {
  const { length } = content
  const size =
    length < 126
      ? [128 | length]
      : length < 2 ** 16
        ? [254, length >> 8, length & 255]
        : [255, 0, 0, 0, 0, length >>> 24, (length >> 16) & 255, (length >> 8) & 255, length & 255]
  return Buffer.concat([Buffer.from([128 | kind, ...size, 0, 0, 0, 0]), content])
}

// Cuts a stream of bytes into Server-Sent Events without changing one of them. Knows line ends and blank
// lines, not what an event says.

const LF = 0x0a
const CR = 0x0d

/** An event longer than this is not one, bytes. */
const MAX_EVENT = 32 * 2 ** 20

/** `push` returns the events that a chunk completes, each with the blank line that ends it. */
export class EventFramer {
  #tail: Buffer | null = null
  #lineLength = 0
  #afterCr = false

  push(chunk: Buffer): Buffer[] {
    const offset = this.#tail?.length ?? 0
    if (offset + chunk.length > MAX_EVENT)
      throw new Error(`the provider sent an event of more than ${MAX_EVENT} bytes`)
    const bytes = this.#tail ? Buffer.concat([this.#tail, chunk]) : chunk
    const events: Buffer[] = []
    let start = 0
    for (let at = offset; at < bytes.length; at++) {
      const byte = bytes[at]
      if (byte !== LF && byte !== CR) {
        this.#lineLength++
        this.#afterCr = false
      } else if (byte === LF && this.#afterCr) {
        this.#afterCr = false // the second half of a CRLF; it goes on by itself when its event has gone already
        if (at === start) {
          events.push(bytes.subarray(at, at + 1))
          start = at + 1
        }
      } else if (this.#lineLength > 0) {
        this.#lineLength = 0
        this.#afterCr = byte === CR
      } else {
        const crlf = byte === CR && bytes[at + 1] === LF
        if (crlf) at++
        this.#afterCr = byte === CR && !crlf
        events.push(bytes.subarray(start, at + 1))
        start = at + 1
      }
    }
    this.#tail = start < bytes.length ? bytes.subarray(start) : null
    return events
  }

  /** What is left when the stream ends: an event without its blank line, or null. */
  rest(): Buffer | null {
    return this.#tail
  }
}

// Cuts a stream of bytes into Server-Sent Events without changing one of them. Knows line ends and blank
// lines, not what an event says.

const LF = 0x0a
const CR = 0x0d

/** An event longer than this is not one, bytes. */
const MAX_EVENT = 32 * 2 ** 20

/** `push` returns the events that a chunk completes, each with the blank line that ends it. */
export class EventFramer {
  /** What has come of the event that is not complete yet. */
  #begun: Buffer[] = []
  #size = 0
  #lineLength = 0
  #afterCr = false

  push(chunk: Buffer): Buffer[] {
    const events: Buffer[] = []
    let start = 0
    const cut = (end: number) => {
      events.push(
        this.#begun.length > 0
          ? Buffer.concat([...this.#begun, chunk.subarray(start, end)])
          : chunk.subarray(start, end),
      )
      this.#begun = []
      this.#size = 0
      start = end
    }
    for (let at = 0; at < chunk.length; at++) {
      const byte = chunk[at]
      if (byte !== LF && byte !== CR) {
        this.#lineLength++
        this.#afterCr = false
      } else if (byte === LF && this.#afterCr) {
        this.#afterCr = false // the second half of a CRLF; it goes on by itself when its event has gone already
        if (at === start && this.#size === 0) cut(at + 1)
      } else if (this.#lineLength > 0) {
        this.#lineLength = 0
        this.#afterCr = byte === CR
      } else {
        const crlf = byte === CR && chunk[at + 1] === LF
        if (crlf) at++
        this.#afterCr = byte === CR && !crlf
        cut(at + 1)
      }
    }
    if (start < chunk.length) {
      this.#begun.push(chunk.subarray(start))
      this.#size += chunk.length - start
      if (this.#size > MAX_EVENT) throw new Error(`an event of more than ${MAX_EVENT} bytes`)
    }
    return events
  }

  /** What is left when the stream ends: an event without its blank line, or null. */
  rest(): Buffer | null {
    return this.#size > 0 ? Buffer.concat(this.#begun) : null
  }
}

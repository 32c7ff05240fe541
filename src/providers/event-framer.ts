// Splits a stream of bytes into Server-Sent Events without changing a byte. Recognizes line ends and blank
// lines, and requires a data line in an event; does not interpret the event. A provider may send any number
// of comments and blank lines. Successive comments and blank lines form one part, so that their number costs
// nothing.

import { BytePieces } from '../shared/byte-pieces.ts'

const LF = 0x0a
const CR = 0x0d
/** First byte of `data`, and first byte of a byte order mark that may precede it. */
const DATA = 0x64
const BOM = 0xef

/** Maximum bytes of an event. */
const MAX_EVENT = 32 * 2 ** 20

interface FramedPart {
  readonly bytes: Buffer
  /** False for a part of only comments and blank lines. */
  readonly hasData: boolean
}

export class EventFramer {
  /** Received bytes of the incomplete part. */
  #begun: BytePieces | null = null
  #size = 0
  /** Length of the incomplete line. */
  #lineLength = 0
  #afterCr = false
  /** True if a line of the incomplete block may be data. */
  #hasData = false

  /**
   * Returns the parts that a chunk completes; an event includes its blank line. Throws for an oversized
   * event.
   */
  push(chunk: Buffer): FramedPart[] {
    const parts: FramedPart[] = []
    let start = 0
    /** End of the complete comments and blank lines at the start of the data. */
    let fillerEnd = 0
    const cut = (end: number, hasData: boolean) => {
      const rest = chunk.subarray(start, end)
      parts.push({ bytes: this.#begun ? this.#completed(this.#begun, rest) : rest, hasData })
      start = end
    }
    // Searches for each kind of line end once. Checking every byte took 0.45 of 1.6 µs per event.
    let lf = chunk.indexOf(LF)
    let cr = chunk.indexOf(CR)
    for (let at = 0; at < chunk.length; at++) {
      if (lf >= 0 && lf < at) lf = chunk[at] === LF ? at : chunk.indexOf(LF, at)
      if (cr >= 0 && cr < at) cr = chunk[at] === CR ? at : chunk.indexOf(CR, at)
      const end = lf < 0 || cr < 0 ? Math.max(lf, cr) : Math.min(lf, cr)
      const text = (end < 0 ? chunk.length : end) - at
      if (text > 0) {
        if (this.#lineLength === 0 && (chunk[at] === DATA || chunk[at] === BOM)) this.#hasData = true
        this.#lineLength += text
        this.#afterCr = false
        if (end < 0) break
        at = end
      }
      const byte = chunk[at]
      if (byte === LF && this.#afterCr) {
        this.#afterCr = false // the second half of a CRLF, sent alone if its event was already sent
        if (at === start && this.#size === 0) fillerEnd = at + 1
      } else if (this.#lineLength > 0) {
        this.#lineLength = 0
        this.#afterCr = byte === CR
      } else {
        const crlf = byte === CR && chunk[at + 1] === LF
        if (crlf) at++
        this.#afterCr = byte === CR && !crlf
        if (!this.#hasData) fillerEnd = at + 1
        else {
          if (fillerEnd > start) cut(fillerEnd, false)
          cut(at + 1, true)
        }
        this.#hasData = false
      }
    }
    // Comments are passed on before the next event, because they keep a connection alive.
    if (fillerEnd > start) cut(fillerEnd, false)
    if (start < chunk.length) {
      this.#begun ??= new BytePieces()
      this.#begun.add(chunk.subarray(start))
      this.#size += chunk.length - start
      if (this.#size > MAX_EVENT) throw new Error(`an event of more than ${MAX_EVENT} bytes`)
    }
    return parts
  }

  #completed(begun: BytePieces, rest: Buffer): Buffer {
    this.#begun = null
    this.#size = 0
    begun.add(rest)
    return begun.joined()
  }

  get unfinished(): number {
    return this.#size
  }

  /** Returns the rest when the stream ends: an event without its blank line, or null. */
  rest(): Buffer | null {
    return this.#begun?.joined() ?? null
  }
}

// Empties long strings of JSON that arrives piece by piece, also of JSON in events. Usage may follow after a
// picture of several megabytes, and is then still found in bounded memory. Pure.

/** Longest string that is kept, bytes as written. */
const MAX_STRING_BYTES = 1_024

const QUOTE = 0x22
const BACKSLASH = 0x5c
const LINE_END = 0x0a

/** Empties the long strings in the pieces of one body. */
export class StringShortener {
  #isInString = false
  /** Bytes of the open string. */
  #length = 0
  /** True if the last byte of the open string escapes the next one. */
  #isEscaped = false
  /** Beginning of the open string, from earlier pieces; nothing once it is too long. */
  readonly #held = Buffer.allocUnsafe(MAX_STRING_BYTES)
  #heldBytes = 0

  /** Returns a copy of the bytes that can be kept so far. A string follows when it has ended. */
  shorten(piece: Buffer): Buffer {
    const kept: Buffer[] = []
    /** First byte that is not in `kept` yet. */
    let from = this.#isLong ? this.#endOfLong(piece, 0) : 0
    /** First byte of the open string. */
    let start = 0
    for (let at = from; at < piece.length; at++) {
      const byte = piece[at]!
      if (!this.#isInString) {
        this.#isInString = byte === QUOTE
        start = at + 1
      } else if (this.#isEnd(byte)) {
        if (this.#heldBytes > 0) kept.push(this.#held.subarray(0, this.#heldBytes))
        this.#heldBytes = 0
        this.#length = 0
        this.#isInString = false
      } else if (this.#isLong) {
        kept.push(piece.subarray(from, start))
        this.#heldBytes = 0
        from = this.#endOfLong(piece, at + 1)
        at = from - 1
      }
    }
    const isOpen = this.#isInString && !this.#isLong
    kept.push(isOpen ? piece.subarray(from, start) : piece.subarray(from))
    const shortened = Buffer.concat(kept)
    if (isOpen) this.#heldBytes += piece.copy(this.#held, this.#heldBytes, start)
    return shortened
  }

  get #isLong(): boolean {
    return this.#length > MAX_STRING_BYTES
  }

  /**
   * Returns true if a byte ends the open string, else counts it. A line end is also an end: no string of JSON
   * contains one, and other text may have a single quotation mark.
   */
  #isEnd(byte: number): boolean {
    if (!this.#isEscaped && (byte === QUOTE || byte === LINE_END)) return true
    this.#isEscaped = !this.#isEscaped && byte === BACKSLASH
    this.#length++
    return false
  }

  /** Returns the index of the open string's end, or the length of the piece. */
  #endOfLong(piece: Buffer, from: number): number {
    const quote = piece.indexOf(QUOTE, from)
    const until = quote < 0 ? piece.length : quote
    const part = piece.subarray(from, until)
    // A picture or a sound, which would take 20 times as long byte by byte.
    if (!this.#isEscaped && !part.includes(BACKSLASH) && !part.includes(LINE_END)) return until
    let at = from
    while (at < piece.length && !this.#isEnd(piece[at]!)) at++
    return at
  }
}

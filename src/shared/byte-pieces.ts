// Pieces of a body that are kept until they can be read together. A body in tiny pieces takes as much memory as a
// body in large pieces, because each small piece is copied: a piece alone takes a hundred bytes, and keeps the
// buffer of the network in which it arrived.

/** Pieces that are kept as they arrived, because nearly all bodies have fewer. */
const MAX_UNCOPIED = 16
/** Bytes from which a piece is kept as it arrived. */
const LARGE_BYTES = 4_096
/** Bytes that are allocated for small pieces. */
const BLOCK_BYTES = 16_384

const NO_BYTES = Buffer.alloc(0)

export class BytePieces {
  #pieces: Buffer[] = []
  /** Block with small pieces. Those from `#from` to `#to` are not in `#pieces` yet. */
  #block = NO_BYTES
  #from = 0
  #to = 0
  /** Bytes of all pieces. */
  length = 0

  add(piece: Buffer): void {
    this.length += piece.length
    if (piece.length >= LARGE_BYTES || this.#pieces.length < MAX_UNCOPIED) {
      this.#take()
      this.#pieces.push(piece)
      return
    }
    if (this.#to + piece.length > this.#block.length) {
      this.#take()
      this.#block = Buffer.allocUnsafeSlow(BLOCK_BYTES)
      this.#from = 0
      this.#to = 0
    }
    piece.copy(this.#block, this.#to)
    this.#to += piece.length
  }

  /** Returns all bytes. A single piece is not copied. */
  joined(): Buffer {
    this.#take()
    if (this.#pieces.length > 1) this.#pieces = [Buffer.concat(this.#pieces, this.length)]
    return this.#pieces[0] ?? NO_BYTES
  }

  /** Returns a copy of the first `size` bytes, which keeps no buffer of the network. */
  copied(size = this.length): Buffer {
    this.#take()
    return Buffer.concat(this.#pieces, size)
  }

  clear(): void {
    this.#pieces = []
    this.#block = NO_BYTES
    this.#from = 0
    this.#to = 0
    this.length = 0
  }

  #take(): void {
    if (this.#to > this.#from) this.#pieces.push(this.#block.subarray(this.#from, this.#to))
    this.#from = this.#to
  }
}

// Whether another program wrote into the database file itself, as `cp` does when it puts a copy over it: the file keeps its
// inode, and SQLite notices nothing. SQLite writes there only when it folds the log in, and its index of the log says how
// much is folded, whichever program did it. Knows file formats (https://sqlite.org/walformat.html), no SQL.
import { closeSync, fstatSync, openSync, readSync } from 'node:fs'

/**
 * The database and its index of the log, open. They must not be closed while a connection of this process is open: with
 * any descriptor of a file that is closed, POSIX takes all locks of the process on it away. Can be handed to a thread.
 */
export interface Descriptors {
  readonly database: number
  readonly index: number
}

export const openDescriptors = (file: string): Descriptors => ({
  database: openSync(file, 'r'),
  index: openSync(`${file}-shm`, 'r'),
})

export function closeDescriptors({ database, index }: Descriptors): void {
  closeSync(database)
  closeSync(index)
}

/** The words of the index that are read here. If its layout is another one, nothing is concluded. */
const WORDS = 34
const LAYOUT = 3_007_000
const FRAMES = 4
const PAGES = 5
const SALTS = [8, 9] as const
const FOLDED = 24
const FOLDING = 32

/** Pieces of the database that are compared: so many that a different copy does not have all of them by chance. */
const PIECES = 16
const PIECE_BYTES = 256

/** To be asked before and after each write: true when bytes of another program are in the database. `pageSize` in bytes. */
export function watchOverwrites({ database, index }: Descriptors, pageSize: number): () => boolean {
  const words = new Uint32Array(WORDS)
  let known = { mtimeMs: 0, size: 0, folded: '', pieces: Buffer.alloc(0) as Buffer }

  /** Which log it is, and how much of it is in the database; null while it is being folded in. */
  function foldedNow(): string | null {
    if (readSync(index, words, 0, words.byteLength, 0) < words.byteLength) return null
    return words[0] === LAYOUT && words[FOLDED] === words[FOLDING]
      ? [...SALTS, FOLDED].map((at) => words[at]).join(' ')
      : null
  }

  /** Whether the file is as long as it has to be, once all of the log is in it. */
  const hasItsSize = (size: number): boolean =>
    words[PAGES] === 0 || words[FRAMES] !== words[FOLDED] || size === words[PAGES]! * pageSize

  function piecesOf(size: number): Buffer {
    const pieces = Buffer.alloc(PIECES * PIECE_BYTES)
    const step = Math.max(0, size - PIECE_BYTES) / (PIECES - 1)
    for (let n = 0; n < PIECES; n++)
      readSync(database, pieces, n * PIECE_BYTES, PIECE_BYTES, Math.floor(n * step))
    return pieces
  }

  function isOverwritten(): boolean {
    const folded = foldedNow()
    const { mtimeMs, size } = fstatSync(database)
    if (folded === null || folded !== foldedNow()) return false // not sure; the next look decides
    if (mtimeMs === known.mtimeMs && size === known.size && folded === known.folded) return false
    if (!hasItsSize(size)) return true
    const pieces = piecesOf(size)
    // A file that was only touched is the same.
    if (folded === known.folded && !pieces.equals(known.pieces)) return true
    known = { mtimeMs, size, folded, pieces }
    return false
  }
  isOverwritten()
  return isOverwritten
}

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
const FOLDED = 24
const FOLDING = 32
/** Its two salts, and how many of its frames are in the database. */
const LOG = [8, 9, FOLDED] as const

/** Pieces of the database that are compared: so many that a different copy does not have all of them by chance. */
const PIECES = 16
const PIECE_BYTES = 256

/** To be asked before and after each write: true when bytes of another program are in the database. `pageSize` in bytes. */
export function watchOverwrites({ database, index }: Descriptors, pageSize: number): () => boolean {
  const words = new Uint32Array(WORDS)
  const known = { mtimeMs: 0, size: 0, log: new Uint32Array(WORDS), pieces: null as Buffer | null }

  const readIndex = () => void readSync(index, words, 0, words.byteLength, 0)
  /** Whether it is that log, and as much of it is in the database. */
  const isLog = (log: Uint32Array) => LOG.every((at) => words[at] === log[at])

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
    readIndex()
    const { mtimeMs, size } = fstatSync(database)
    const isKnownLog = isLog(known.log)
    if (mtimeMs === known.mtimeMs && size === known.size && isKnownLog) return false
    const log = words.slice()
    readIndex()
    const isBeingFolded = words[FOLDED] !== words[FOLDING] || !isLog(log)
    if (words[0] !== LAYOUT || isBeingFolded) return false // not sure; the next look decides
    if (!hasItsSize(size)) return true
    const pieces = piecesOf(size)
    // A file that was only touched is the same.
    if (isKnownLog && known.pieces && !pieces.equals(known.pieces)) return true
    Object.assign(known, { mtimeMs, size, log, pieces })
    return false
  }
  isOverwritten()
  return isOverwritten
}

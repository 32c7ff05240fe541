// Notices when another program writes into the open files themselves, as `cp` does when it puts a copy over them: they keep
// their inodes, and SQLite notices nothing. SQLite's index of the log says how often was committed, which frame of the log is
// the last, and how many are in the database; all three files have to agree with it, and it never goes back. Knows file
// formats (https://sqlite.org/walformat.html), no SQL.
import { closeSync, fstatSync, openSync, readSync } from 'node:fs'

/**
 * The database, its log and its index of the log, open. They must not be closed while a connection of this process is open:
 * with any descriptor of a file that is closed, POSIX takes all locks of the process on it away. Can be handed to a thread.
 */
export interface Descriptors {
  readonly database: number
  readonly log: number
  readonly index: number
}

export const openDescriptors = (file: string): Descriptors => ({
  database: openSync(file, 'r'),
  log: openSync(`${file}-wal`, 'r'),
  index: openSync(`${file}-shm`, 'r'),
})

export function closeDescriptors({ database, log, index }: Descriptors): void {
  closeSync(database)
  closeSync(log)
  closeSync(index)
}

/** The words of the index that are read here: its header twice, then how much is in the database. */
const WORDS = 34
const HEADER_WORDS = 12
/** Another layout than this one is not concluded from. */
const LAYOUT = 3_007_000
const COMMITS = 2
const FRAMES = 4
const PAGES = 5
/** Checksum of the last frame. */
const SUM = 6
const SALT = 8
const FOLDED = 24
const FOLDING = 32

/** At the beginning of the log, and before each page in it, bytes. */
const LOG_HEADER = 32
const FRAME_HEADER = 24
const SALT_BYTES = 8
const SALT_IN_LOG = 16
const SALT_IN_FRAME = 8
const SUM_IN_FRAME = 16

/** Pages that SQLite never writes: the one with its locks, in a file of more than a GiB. */
const RESERVED_PAGES = 1

/** Pieces of the database that are compared: so many that a different copy does not have all of them by chance. */
const PIECES = 16
const PIECE_BYTES = 256

/** Returns the number of frames in the log. */
export function framesOf({ index }: Descriptors): number {
  const word = new Uint32Array(1)
  readSync(index, word, 0, word.byteLength, FRAMES * word.byteLength)
  return word[0]!
}

/** Returns true if all of the log is in the database: the next write begins it again, and waits for the disk. */
export function isLogFolded({ index }: Descriptors): boolean {
  const words = new Uint32Array(WORDS)
  readSync(index, words, 0, words.byteLength, 0)
  return words[FRAMES] === words[FOLDED]
}

export type Overwritten = 'database' | 'log' | 'index'

/**
 * To be asked before and after each write: which file has bytes of another program in it, null if none has. `pageSize` in
 * bytes.
 */
export function watchOverwrites(
  { database, log, index }: Descriptors,
  pageSize: number,
): () => Overwritten | null {
  const words = new Uint32Array(WORDS)
  const bytes = Buffer.from(words.buffer)
  const again = new Uint32Array(WORDS)
  const frame = Buffer.alloc(FRAME_HEADER)
  const header = Buffer.alloc(LOG_HEADER)
  /** The index at the last look. */
  const before = new Uint32Array(WORDS)
  /** The database when something was last folded into it, and the index then. */
  const known = { ctimeMs: 0, size: 0, words: new Uint32Array(WORDS), pieces: null as Buffer | null }

  const readIndex = (into: Uint32Array): boolean =>
    readSync(index, into, 0, into.byteLength, 0) === into.byteLength
  const isSame = (a: Uint32Array, b: Uint32Array, from: number, to: number): boolean => {
    for (let at = from; at < to; at++) if (a[at] !== b[at]) return false
    return true
  }
  const isLogOf = (of: Uint32Array): boolean => isSame(words, of, SALT, SALT + 2)
  /** Another program may be writing the header. */
  const isWhole = (): boolean =>
    words[0] === LAYOUT && isSame(words, words.subarray(HEADER_WORDS), 0, HEADER_WORDS)

  /** True if the index is older than before, or a different one of the same age. */
  function isSetBack(): boolean {
    if (before[0] !== LAYOUT) return false
    const since = (words[COMMITS]! - before[COMMITS]!) | 0 // it may overflow
    return since < 0 || (since === 0 && isLogOf(before) && !isSame(words, before, FRAMES, SALT))
  }

  /** True if the log has the last frame of this index. */
  function hasFrameOf(of: Uint32Array): boolean {
    const at = LOG_HEADER + (of[FRAMES]! - 1) * (FRAME_HEADER + pageSize)
    return (
      readSync(log, frame, 0, FRAME_HEADER, at) === FRAME_HEADER &&
      hasSalt(frame, SALT_IN_FRAME) &&
      frame.readUInt32BE(SUM_IN_FRAME) === of[SUM] &&
      frame.readUInt32BE(SUM_IN_FRAME + 4) === of[SUM + 1]
    )
  }
  const hasSalt = (of: Buffer, at: number): boolean =>
    of.compare(bytes, SALT * 4, SALT * 4 + SALT_BYTES, at, at + SALT_BYTES) === 0

  /** True if the log begins and ends as the index says, and still has the frame that was the last one before. */
  function isLogWhole(): boolean {
    if (words[FRAMES] === 0) return true
    const hasHeader = readSync(log, header, 0, LOG_HEADER, 0) === LOG_HEADER && hasSalt(header, SALT_IN_LOG)
    if (!hasHeader || !hasFrameOf(words)) return false
    return !isLogOf(before) || before[FRAMES] === 0 || hasFrameOf(before)
  }

  /**
   * True if the file is as long as it has to be: with all of the log in it exactly, else no page may be missing that the log
   * does not have. This tells an older copy also where the log was folded in and begun again since the last look.
   */
  function hasItsSize(size: number): boolean {
    const pages = words[PAGES]!
    if (pages === 0) return true
    if (words[FRAMES] === words[FOLDED]) return size === pages * pageSize
    return (
      isLogOf(known.words) ||
      pages - size / pageSize <= pagesInLog(log, pageSize, words[FRAMES]!, size) + RESERVED_PAGES
    )
  }

  /** Compares the database with what it was; `false` also while that is not sure. */
  function isDatabaseForeign(): boolean {
    const { ctimeMs, size } = fstatSync(database)
    const isKnown = isLogOf(known.words) && words[FOLDED] === known.words[FOLDED]
    if (ctimeMs === known.ctimeMs && size === known.size && isKnown) return false
    if (words[FOLDED] !== words[FOLDING] || isIndexChanging()) return false // the next look decides
    if (!hasItsSize(size)) return !isIndexChanging()
    const pieces = piecesOf(database, size)
    // A file that was only touched is the same.
    if (isKnown && known.pieces && !pieces.equals(known.pieces)) return true
    Object.assign(known, { ctimeMs, size, pieces, words: words.slice() })
    return false
  }
  const isIndexChanging = (): boolean => !readIndex(again) || !isSame(words, again, 0, WORDS)

  function overwritten(): Overwritten | null {
    if (!readIndex(words)) return 'index'
    if (!isWhole()) return null // not sure; the next look decides
    if (isSetBack()) return 'index'
    if (!isLogWhole() && !isIndexChanging()) return 'log'
    if (isDatabaseForeign()) return 'database'
    before.set(words)
    return null
  }
  overwritten()
  return overwritten
}

/** Counts the different pages in so many frames of a log that a file of this size does not have. */
function pagesInLog(log: number, pageSize: number, frames: number, size: number): number {
  const numbers = new Set<number>()
  const number = Buffer.alloc(4)
  for (let n = 0; n < frames; n++) {
    readSync(log, number, 0, number.length, LOG_HEADER + n * (FRAME_HEADER + pageSize))
    if (number.readUInt32BE() * pageSize > size) numbers.add(number.readUInt32BE())
  }
  return numbers.size
}

/** Reads pieces of a database, at the same places if it has the same size. */
function piecesOf(database: number, size: number): Buffer {
  const pieces = Buffer.alloc(PIECES * PIECE_BYTES)
  const step = Math.max(0, size - PIECE_BYTES) / (PIECES - 1)
  for (let n = 0; n < PIECES; n++)
    readSync(database, pieces, n * PIECE_BYTES, PIECE_BYTES, Math.floor(n * step))
  return pieces
}

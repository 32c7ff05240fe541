// Notices when another program writes into the open files themselves. For example, `cp` of a copy over them
// preserves their inodes, so SQLite notices nothing. SQLite's index of the log says how many commits there
// were, which frame of the log is the last, and how many frames are in the database. All three files must
// agree with the index, and its counters never decrease. Uses file formats
// (https://sqlite.org/walformat.html), but no SQL.
import { closeSync, fstatSync, openSync, readSync } from 'node:fs'

/**
 * Descriptors of the database, its log, and the log's index. The descriptors must stay open while this
 * process has a connection: closing any descriptor of a file makes POSIX release all locks of the process on
 * it. Can be handed to a thread.
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

/**
 * Number of words of the index that are read here: its header twice, then the number of frames in the
 * database.
 */
const WORDS = 34
const HEADER_WORDS = 12
/** The layout of the index that this file understands. Nothing is concluded from any other layout. */
const LAYOUT = 3_007_000
const COMMITS = 2
const FRAMES = 4
const PAGES = 5
/** Checksum of the last frame. */
const SUM = 6
const SALT = 8
const FOLDED = 24
const FOLDING = 32

/** Bytes at the beginning of the log, and before each page in it. */
const LOG_HEADER = 32
const FRAME_HEADER = 24
const SUM_IN_FRAME = 16
/** Places of the two words of the salt. */
const SALT_IN_LOG = 4
const SALT_IN_FRAME = 2

/** Number of pages that SQLite never writes: the lock page, in a file of more than a GiB. */
const RESERVED_PAGES = 1

/**
 * Number of pieces of the database that are compared; enough that a different copy never matches in all of
 * them by chance.
 */
const PIECES = 16
const PIECE_BYTES = 256

/** Returns the number of frames in the log. */
export function framesOf({ index }: Descriptors): number {
  const word = new Uint32Array(1)
  readSync(index, word, 0, word.byteLength, FRAMES * word.byteLength)
  return word[0]!
}

export type Overwritten = 'database' | 'log' | 'index'

interface OverwriteWatch {
  /** Call before and after each write. Returns the file that another program wrote into, or null. */
  (): Overwritten | null
  /**
   * Returns true if the whole log was in the database at the last check. The next write then restarts the log, and
   * waits for the disk.
   */
  isLogFolded(): boolean
}

/** Watches the open files of a database with pages of `pageSize` bytes. */
export function watchOverwrites({ database, log, index }: Descriptors, pageSize: number): OverwriteWatch {
  const words = new Uint32Array(WORDS)
  const again = new Uint32Array(WORDS)
  const frame = new Uint32Array(FRAME_HEADER / 4)
  const frameBytes = Buffer.from(frame.buffer)
  const header = new Uint32Array(LOG_HEADER / 4)
  /** The index at the last check. */
  const before = new Uint32Array(WORDS)
  /** The database after the last checkpoint, and the index at that time. */
  const known = { ctimeMs: 0, size: 0, words: new Uint32Array(WORDS), pieces: null as Buffer | null }

  const readIndex = (into: Uint32Array): boolean =>
    readSync(index, into, 0, into.byteLength, 0) === into.byteLength
  const isSame = (a: Uint32Array, b: Uint32Array, from: number, to: number): boolean => {
    for (let at = from; at < to; at++) if (a[at] !== b[at]) return false
    return true
  }
  const isLogOf = (of: Uint32Array): boolean => isSame(words, of, SALT, SALT + 2)
  /** Returns false while another program may be writing the header. */
  const isWhole = (): boolean =>
    words[0] === LAYOUT && isSame(words, words.subarray(HEADER_WORDS), 0, HEADER_WORDS)

  /** Returns true if the index is older than before, or differs at the same age. */
  function isSetBack(): boolean {
    if (before[0] !== LAYOUT) return false
    const since = (words[COMMITS]! - before[COMMITS]!) | 0 // it may overflow
    return since < 0 || (since === 0 && isLogOf(before) && !isSame(words, before, FRAMES, SALT))
  }

  /** Returns true if the log has the last frame of this index. */
  function hasFrameOf(of: Uint32Array): boolean {
    const at = LOG_HEADER + (of[FRAMES]! - 1) * (FRAME_HEADER + pageSize)
    return (
      readSync(log, frame, 0, FRAME_HEADER, at) === FRAME_HEADER &&
      hasSalt(frame, SALT_IN_FRAME) &&
      frameBytes.readUInt32BE(SUM_IN_FRAME) === of[SUM] &&
      frameBytes.readUInt32BE(SUM_IN_FRAME + 4) === of[SUM + 1]
    )
  }
  const hasSalt = (of: Uint32Array, at: number): boolean =>
    of[at] === words[SALT] && of[at + 1] === words[SALT + 1]

  /**
   * Returns true if the log begins and ends as the index says, and still has the frame that was previously
   * the last.
   */
  function isLogWhole(): boolean {
    if (words[FRAMES] === 0) return true
    const hasHeader = readSync(log, header, 0, LOG_HEADER, 0) === LOG_HEADER && hasSalt(header, SALT_IN_LOG)
    if (!hasHeader || !hasFrameOf(words)) return false
    return !isLogOf(before) || before[FRAMES] === 0 || hasFrameOf(before)
  }

  /**
   * Returns true if the file has the right length. With the whole log checkpointed, the length must match
   * exactly. Otherwise, every missing page must be in the log. The check also detects an older copy after the
   * log was checkpointed and restarted since the last check.
   */
  function hasItsSize(size: number): boolean {
    const pages = words[PAGES]!
    if (pages === 0) return true
    if (words[FRAMES] === words[FOLDED]) return size === pages * pageSize
    return (
      isLogOf(known.words) ||
      pages - size / pageSize <= pagesInLog(index, words[FRAMES]!, size / pageSize) + RESERVED_PAGES
    )
  }

  /** Returns true if the database changed unexpectedly; `false` also while that is uncertain. */
  function isDatabaseForeign(): boolean {
    const { ctimeMs, size } = fstatSync(database)
    const isKnown = isLogOf(known.words) && words[FOLDED] === known.words[FOLDED]
    if (ctimeMs === known.ctimeMs && size === known.size && isKnown) return false
    if (words[FOLDED] !== words[FOLDING] || isIndexChanging()) return false // the next check decides
    if (!hasItsSize(size)) return !isIndexChanging()
    const pieces = piecesOf(database, size)
    // A file with a new timestamp but the same content is unchanged.
    if (isKnown && known.pieces && !pieces.equals(known.pieces)) return true
    Object.assign(known, { ctimeMs, size, pieces, words: words.slice() })
    return false
  }
  const isIndexChanging = (): boolean => !readIndex(again) || !isSame(words, again, 0, WORDS)

  function overwritten(): Overwritten | null {
    if (!readIndex(words)) return 'index'
    if (!isWhole()) return null // uncertain; the next check decides
    if (isSetBack()) return 'index'
    if (!isLogWhole() && !isIndexChanging()) return 'log'
    if (isDatabaseForeign()) return 'database'
    before.set(words)
    return null
  }
  overwritten()
  return Object.assign(overwritten, { isLogFolded: () => words[FRAMES] === words[FOLDED] })
}

/** Bytes of a block of the index, and the page numbers in it. The header takes the place of the first ones. */
const BLOCK_BYTES = 2 ** 15
const BLOCK_PAGES = 2 ** 12

/** Counts the pages beyond the first `size` that this many frames of the log hold, by the index. */
function pagesInLog(index: number, frames: number, size: number): number {
  const numbers = new Set<number>()
  const block = new Uint32Array(BLOCK_PAGES)
  for (let end = WORDS + frames, at = 0; end > 0; end -= BLOCK_PAGES, at += BLOCK_BYTES) {
    readSync(index, block, 0, block.byteLength, at)
    for (const number of block.subarray(at === 0 ? WORDS : 0, end)) if (number > size) numbers.add(number)
  }
  return numbers.size
}

/** Reads pieces of a database, at the same places for the same size. */
function piecesOf(database: number, size: number): Buffer {
  const pieces = Buffer.alloc(PIECES * PIECE_BYTES)
  const step = Math.max(0, size - PIECE_BYTES) / (PIECES - 1)
  for (let n = 0; n < PIECES; n++)
    readSync(database, pieces, n * PIECE_BYTES, PIECE_BYTES, Math.floor(n * step))
  return pieces
}

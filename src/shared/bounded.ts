// Reads what others made, up to a limit: files that a user named, answers that a command fetched, JSON texts. A path may be
// an endless device or a pipe without a writer, and an answer may have any number of bytes. Imports no other file.
import { closeSync, constants, fstatSync, openSync, readSync, realpathSync } from 'node:fs'
import { join } from 'node:path'

const MIB = 2 ** 20
const PIECE_BYTES = 2 ** 16

/**
 * Returns all bytes of a regular file of at most `most` bytes. Error messages are written to follow the
 * file's name.
 */
export function readBounded(path: string, most: number): Buffer {
  // Non-blocking, because opening a pipe would otherwise hang until another program writes to it.
  const file = openSync(path, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0))
  try {
    const stats = fstatSync(file)
    if (stats.isDirectory()) throw Object.assign(new Error('is a directory, not a file'), { code: 'EISDIR' })
    if (!stats.isFile()) throw new Error('is a pipe or a device, not a file')
    if (stats.size > most) throw tooLarge(most)
    const pieces: Buffer[] = []
    let size = 0
    for (;;) {
      const piece = Buffer.allocUnsafe(Math.max(stats.size - size, PIECE_BYTES))
      const read = readSync(file, piece)
      if (read === 0) return Buffer.concat(pieces, size)
      pieces.push(piece.subarray(0, read))
      size += read
      if (size > most) throw tooLarge(most)
    }
  } finally {
    closeSync(file)
  }
}

/**
 * Reads a file of a folder that a stranger made, as `readBounded` does. Follows no link inside the folder, because it
 * may lead to any file of the reader.
 */
export function readInside(folder: string, name: string, most: number): Buffer {
  const path = join(folder, name)
  if (realpathSync(path) !== join(realpathSync(folder), name)) throw new Error('is a link, or below one')
  return readBounded(path, most)
}

const tooLarge = (most: number): Error =>
  new Error(`is too large: at most ${most < MIB ? `${most / 2 ** 10} KiB` : `${most / MIB} MiB`} are read`)

const [QUOTE, BACKSLASH, COMMA, BRACKET, BRACE] = [0x22, 0x5c, 0x2c, 0x5b, 0x7b] as const

/**
 * Returns true if JSON contains more than `most` values. An empty list or object counts twice. Reads the text
 * in one pass.
 */
export function holdsMoreValues(json: Buffer, most: number): boolean {
  if (json.length <= most) return false // each value has at least one byte
  let values = 1
  for (let at = 0; at < json.length; at++) {
    const byte = json[at]
    if (byte === QUOTE) at = endOfString(json, at + 1)
    else if ((byte === COMMA || byte === BRACKET || byte === BRACE) && ++values > most) return true
  }
  return false
}

/** Bytes of a string that are read one by one, as nearly all strings are short. */
const SHORT_BYTES = 64

/**
 * Returns the index of the quote that ends a string. In long strings, the search for the next quote is eight times as
 * fast as reading each byte.
 */
function endOfString(json: Buffer, start: number): number {
  let at = start
  for (;;) {
    for (const stop = at + SHORT_BYTES; at < stop; at++) {
      if (at >= json.length || json[at] === QUOTE) return at
      if (json[at] === BACKSLASH) at++
    }
    const quote = json.indexOf(QUOTE, at)
    if (quote < 0) return json.length
    let slashes = 0
    while (quote - slashes > at && json[quote - slashes - 1] === BACKSLASH) slashes++
    if (slashes % 2 === 0) return quote
    at = quote + 1
  }
}

/** Returns the body of an answer, of at most `most` bytes after decompression. Cancels a longer one and throws. */
export async function boundedBody(answer: Response, most: number): Promise<Buffer> {
  const pieces: Uint8Array[] = []
  let size = 0
  for await (const piece of answer.body ?? []) {
    size += piece.length
    if (size > most) throw new Error(`the answer is longer than ${most} bytes`) // which cancels it
    pieces.push(piece)
  }
  return Buffer.concat(pieces)
}

// Reads a file that a user named. The path may be an endless device, a pipe without a writer, or a file
// larger than memory. Imports no other file.
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

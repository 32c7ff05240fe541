// Detects a body in tiny pieces: each piece costs as much as a large one, and 20 MiB of them block the gateway for
// minutes. Frees the pieces of relayed bodies: their bytes are outside V8's heap, and V8 allows 64 MiB of them before it
// collects garbage. Frees nothing without a collector, as in a program that runs a gateway in its own process.
import type { IncomingMessage } from 'node:http'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { on } from '../shared/boundary.ts'

/** Number of pieces accepted from any client, because an encoder may write each token separately. */
const FREE_PIECES = 10_000
/** Minimum average size of later pieces, bytes. */
const MIN_AVERAGE_BYTES = 64
/** Maximum bytes of an unwanted body that are read and dropped. */
const MAX_UNWANTED_BYTES = 2 ** 20

/** Returns true if a body arrives in pieces that are too small, so that its connection must be cut. */
export const areTiny = (pieces: number, bytes: number): boolean =>
  pieces > FREE_PIECES && bytes < pieces * MIN_AVERAGE_BYTES

/** Reads and drops an unwanted body, which would otherwise take memory. A large body ends the connection. */
export function dropBody(request: IncomingMessage): void {
  const { headers } = request
  if (headers['transfer-encoding'] === undefined && headers['content-length'] === undefined) return
  let pieces = 0
  let bytes = 0
  const data = (piece: Buffer) => {
    bytes += piece.length
    if (bytes > MAX_UNWANTED_BYTES || areTiny(++pieces, bytes)) request.destroy()
  }
  on(request, { data }, () => request.destroy())
}

/**
 * Relayed bytes after which the young generation is collected, which takes about a millisecond for 16 MiB.
 */
const MAX_UNCOLLECTED_BYTES = 16 * 2 ** 20

let collect: (() => void) | null = null
let uncollectedBytes = 0

/** Enables collections, for a program that owns its process. */
export function collectPieces(): void {
  setFlagsFromString('--expose-gc')
  const gc: (options: { type: 'minor' }) => void = runInNewContext('gc')
  collect = () => gc({ type: 'minor' })
}

/** Counts a piece that was relayed. */
export function countPiece(bytes: number): void {
  uncollectedBytes += bytes
  if (uncollectedBytes < MAX_UNCOLLECTED_BYTES) return
  uncollectedBytes = 0
  collect?.()
}

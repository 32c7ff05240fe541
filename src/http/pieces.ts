// Detects a body in tiny pieces. Each piece costs as much as a large one, and 20 MiB of them block the
// gateway for minutes.
import type { IncomingMessage } from 'node:http'
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

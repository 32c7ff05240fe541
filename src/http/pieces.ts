// A body in very small pieces: each costs as much as a large one, and 20 MiB of them block every client for minutes.
import type { IncomingMessage } from 'node:http'

/** So many pieces are accepted from any client; an encoder may write every token by itself. */
const FREE = 10_000
/** Beyond them, what a piece must have on average, bytes. */
const LEAST = 64
/** What is read and dropped of an unwanted body, bytes. */
const UNWANTED = 2 ** 20

/** Whether a body comes in pieces that are too small: its connection is to be cut. */
export const areTiny = (pieces: number, bytes: number): boolean => pieces > FREE && bytes < pieces * LEAST

/** Reads and drops an unwanted body: what waits takes memory. A large one ends the connection. */
export function dropBody(request: IncomingMessage): void {
  const { headers } = request
  if (headers['transfer-encoding'] === undefined && headers['content-length'] === undefined) return
  let pieces = 0
  let bytes = 0
  request.on('data', (piece: Buffer) => {
    bytes += piece.length
    if (bytes > UNWANTED || areTiny(++pieces, bytes)) request.destroy()
  })
}

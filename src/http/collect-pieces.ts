// Frees the pieces of relayed bodies. Their bytes are outside V8's heap, and V8 allows 64 MiB of them before
// it collects garbage. Does nothing without a collector, as in a program that runs a gateway in its own
// process.
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

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

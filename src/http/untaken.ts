// Answers that are written but not read by their clients: how long one may wait, and how large all of them may be.
// Knows no endpoint; a call's stream has its own limit.
import type { ServerResponse } from 'node:http'
import { getHeapStatistics } from 'node:v8'

/** Gives a client that takes nothing up after `idle` ms. */
export type Untaken = (response: ServerResponse, idle: number) => void

/** All answers that wait may have `most` bytes together; beyond that, the one that has waited longest is cut off. */
export function createUntaken(most = getHeapStatistics().heap_size_limit / 8): Untaken {
  const waiting = new Map<ServerResponse, number>() // in the order in which they began to wait
  let bytes = 0
  return (response, idle) => {
    const size = response.writableLength
    if (!response.writableEnded || size === 0 || waiting.has(response)) return
    response.setTimeout(idle, () => response.destroy()) // Node's socket timer knows progress inside one large write
    waiting.set(response, size)
    bytes += size
    response.once('close', () => {
      if (waiting.delete(response)) bytes -= size
    })
    for (const [oldest, its] of waiting) {
      if (bytes <= most) break
      waiting.delete(oldest)
      bytes -= its
      oldest.destroy()
    }
  }
}

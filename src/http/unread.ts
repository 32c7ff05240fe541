// Counts the bytes that were written to a connection but not yet read by its client: whole answers, parts of streams,
// lists, exports, errors. A very slow reader counts like a client that reads nothing, because the memory of a write is
// freed only when all of it has been read. Independent of endpoints.
import type { ServerResponse } from 'node:http'
import { first, once } from '../shared/boundary.ts'
import { MEMORY, type MemoryShare } from '../shared/memory.ts'

const shares = new WeakMap<ServerResponse, MemoryShare>()

/** Updates the count for a response. Call after every write that may wait, and after the data was read. */
export function countUnread(response: ServerResponse, keyName: string | null, memory = MEMORY): void {
  const bytes = response.destroyed ? 0 : response.writableLength
  const before = shares.get(response)
  if (bytes > 0 && !before) {
    const share = memory.open(keyName, 'unread', () => response.destroy())
    shares.set(response, share)
    const release = () => share.release()
    once(response, 'close', release, release)
  }
  shares.get(response)?.set(bytes)
}

/** Disconnects a client that reads nothing of its answer for `idle` ms, and counts the waiting bytes. */
export function giveUpUnread(response: ServerResponse, keyName: string | null, idle: number): void {
  if (!response.writableEnded || response.writableLength === 0) return
  disconnectAfter(response, idle)
  countUnread(response, keyName)
}

/** Disconnects a client that reads nothing for `idle` ms. Node's timer detects progress even within one large write. */
export function disconnectAfter(response: ServerResponse, idle: number): void {
  const destroy = () => void response.destroy()
  once(response, 'timeout', destroy, destroy)
  response.setTimeout(idle)
}

/**
 * Waits until the client has read everything or has left. Disconnects it after `idle` ms without progress.
 */
export function untilRead(response: ServerResponse, keyName: string | null, idle: number): Promise<void> {
  countUnread(response, keyName)
  return new Promise((done) => {
    const go = () => {
      response.setTimeout(0)
      countUnread(response, keyName)
      done()
    }
    const giveUp = () => {
      response.destroy()
      go()
    }
    first(response, { drain: go, close: go, timeout: giveUp }, giveUp)
    response.setTimeout(idle)
  })
}

// Counts the bytes written to all connections but not yet read by clients: whole answers, parts of streams,
// lists, exports, errors. The sum of these bytes is bounded. A very slow reader counts like a client that
// reads nothing, because the memory of a write is freed only when all of it has been read. Independent of
// endpoints.
import type { ServerResponse } from 'node:http'
import { getHeapStatistics } from 'node:v8'
import { after, first, once, stray } from '../shared/boundary.ts'

export interface UntakenLimits {
  /** Maximum number of unread bytes. */
  readonly most: number
  /** Maximum bytes that wait while no client has waited longer than `patience`. */
  readonly mostAtOnce: number
  /** Time that clients have to read their answers when many arrive at the same time, ms. */
  readonly patience: number
}

interface Waiting {
  readonly response: ServerResponse
  readonly key: Key
  /** Start of the wait, ms of the `performance` clock. */
  readonly since: number
  bytes: number
}

/** Unread bytes for the clients of one key, in the order in which they began to wait. */
interface Key {
  readonly name: string | null
  readonly waiting: Set<Waiting>
  bytes: number
}

export class Untaken {
  readonly #limits: UntakenLimits
  readonly #waiting = new Map<ServerResponse, Waiting>()
  /** Keys with unread bytes. */
  readonly #keys = new Map<string | null, Key>()
  readonly #watched = new WeakSet<ServerResponse>()
  #bytes = 0
  #timer: NodeJS.Timeout | null = null

  constructor(limits: UntakenLimits) {
    this.#limits = limits
  }

  /** Updates the count for a response. Call after every write that may wait, and after the data was read. */
  count(response: ServerResponse, keyName: string | null): void {
    const bytes = response.writableLength
    const before = this.#waiting.get(response)
    if (bytes === 0 || response.destroyed) {
      if (before) this.#forget(before)
      return
    }
    const waiting = before ?? this.#begin(response, keyName)
    this.#add(waiting, bytes - waiting.bytes)
    // Runs for every part of a stream. While all waits are within `patience`, no search is needed.
    const { most, mostAtOnce } = this.#limits
    if (this.#bytes > most && (this.#timer === null || this.#bytes > mostAtOnce)) this.#makeRoom()
  }

  #begin(response: ServerResponse, keyName: string | null): Waiting {
    const key = this.#keys.get(keyName) ?? { name: keyName, waiting: new Set(), bytes: 0 }
    this.#keys.set(keyName, key)
    const waiting = { response, key, bytes: 0, since: performance.now() }
    key.waiting.add(waiting)
    this.#waiting.set(response, waiting)
    this.#watch(response)
    return waiting
  }

  #add(waiting: Waiting, bytes: number): void {
    waiting.bytes += bytes
    waiting.key.bytes += bytes
    this.#bytes += bytes
  }

  #watch(response: ServerResponse): void {
    if (this.#watched.has(response)) return
    this.#watched.add(response)
    const close = () => {
      const waiting = this.#waiting.get(response)
      if (waiting) this.#forget(waiting)
    }
    once(response, 'close', close, stray)
  }

  #forget(waiting: Waiting): void {
    const { response, key, bytes } = waiting
    this.#add(waiting, -bytes)
    this.#waiting.delete(response)
    key.waiting.delete(waiting)
    if (key.waiting.size === 0) this.#keys.delete(key.name)
  }

  /**
   * Finds the key with the most unread bytes, and disconnects its longest-waiting client. A single answer may have
   * any size.
   */
  #makeRoom(): void {
    const { most, mostAtOnce, patience } = this.#limits
    while (this.#bytes > most && this.#waiting.size > 1) {
      const greediest = [...this.#keys.values()].reduce((most, key) => (key.bytes > most.bytes ? key : most))
      const longest = greediest.waiting.values().next().value!
      const left = longest.since + patience - performance.now()
      if (left > 0 && this.#bytes <= mostAtOnce) {
        const retry = () => {
          this.#timer = null
          this.#makeRoom()
        }
        this.#timer ??= after(left, retry, stray).unref()
        return
      }
      this.#forget(longest)
      longest.response.destroy()
    }
  }
}

const heap = getHeapStatistics().heap_size_limit

/** The counter that all connections of this process share. */
export const UNTAKEN = new Untaken({
  most: heap / 8,
  mostAtOnce: Math.max(heap / 4, 128 * 2 ** 20),
  patience: 1_000,
})

/** Disconnects a client that reads nothing of its answer for `idle` ms, and counts the waiting bytes. */
export function giveUpUntaken(response: ServerResponse, keyName: string | null, idle: number): void {
  if (!response.writableEnded || response.writableLength === 0) return
  response.setTimeout(idle, () => response.destroy()) // Node's timer detects progress within a large write
  UNTAKEN.count(response, keyName)
}

/**
 * Waits until the client has read everything or has left. Disconnects it after `idle` ms without progress.
 */
export function untilRead(response: ServerResponse, keyName: string | null, idle: number): Promise<void> {
  UNTAKEN.count(response, keyName)
  return new Promise((done) => {
    const go = () => {
      response.setTimeout(0)
      UNTAKEN.count(response, keyName)
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

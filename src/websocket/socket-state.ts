// Responses that exist only as long as a socket (`store: false`, `generate: false`). Their conversations have a limit
// for each socket, and a limit for all sockets together.
import { getHeapStatistics } from 'node:v8'
import type { Conversation } from './continuation.ts'

/** Maximum responses of a socket that can be continued. */
const MAX_RESPONSES = 16

/** Maximum bytes of the conversations of all sockets. */
const MAX_BYTES = getHeapStatistics().heap_size_limit / 8

/** States that are not empty; the most recently used one is last. */
const states = new Set<SocketState>()
let bytes = 0

export class SocketState {
  readonly #responses = new Map<string, Conversation>()
  #bytes = 0

  find(id: string): Conversation | undefined {
    return this.#responses.get(id)
  }

  /**
   * Adds a response. `added`: number of characters that its conversation does not share with an earlier one
   * on this socket.
   */
  keep(id: string, conversation: Conversation, added: number): void {
    this.#responses.set(id, conversation)
    if (this.#responses.size > MAX_RESPONSES) this.#responses.delete(this.#responses.keys().next().value!)
    this.#bytes += added
    bytes += added
    states.delete(this)
    states.add(this)
    while (bytes > MAX_BYTES) states.values().next().value!.clear()
  }

  /** Removes a response whose continuation failed, as providers do. */
  forget(id: string): void {
    this.#responses.delete(id)
  }

  clear(): void {
    bytes -= this.#bytes
    this.#bytes = 0
    this.#responses.clear()
    states.delete(this)
  }
}

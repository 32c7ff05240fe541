// Responses that exist only as long as a socket (`store: false`, `generate: false`). Their conversations are forgotten
// if memory is short; their client then sends the whole conversation again.
import { MEMORY, type MemoryShare } from '../shared/memory.ts'
import type { Conversation } from './continuation.ts'

/** Maximum responses of a socket that can be continued. */
const MAX_RESPONSES = 16
/** Memory of an item and of a response besides their text, bytes. */
const [ITEM_BYTES, RESPONSE_BYTES] = [64, 512]
/** Memory of each character. */
const TEXT_WEIGHT = 2

export class SocketState {
  readonly #responses = new Map<string, Conversation>()
  readonly #keyName: string | null
  #share: MemoryShare | null = null

  constructor(keyName: string | null) {
    this.#keyName = keyName
  }

  find(id: string): Conversation | undefined {
    return this.#responses.get(id)
  }

  /**
   * Adds a response. `characters` and `items`: what its conversation does not share with an earlier one on this
   * socket.
   */
  keep(id: string, conversation: Conversation, characters: number, items: number): void {
    this.#responses.set(id, conversation)
    if (this.#responses.size > MAX_RESPONSES) this.#responses.delete(this.#responses.keys().next().value!)
    this.#share ??= MEMORY.open(this.#keyName, 'cache', () => this.clear())
    const added = RESPONSE_BYTES + TEXT_WEIGHT * characters + ITEM_BYTES * items
    this.#share.set(this.#share.bytes + added)
  }

  /** Removes a response whose continuation failed, as providers do. */
  forget(id: string): void {
    this.#responses.delete(id)
  }

  clear(): void {
    this.#share?.release()
    this.#share = null
    this.#responses.clear()
  }
}

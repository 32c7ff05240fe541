// Items of answers that clients received lately, in memory and bounded in characters. Independent of the dialect.
import { getHeapStatistics } from 'node:v8'
import { LRUCache } from 'lru-cache'
import type { NamedItems } from '../dialects/dialect.ts'
import { MEMORY, type MemoryShare } from '../shared/memory.ts'

/** The answer that an item is part of. */
interface Origin {
  readonly answerId: string
  readonly keyName: string | null
  /** Provider that stores the item under the same id; null if there is none. */
  readonly keeper: string | null
}

export interface GivenItem extends Origin {
  readonly item: string
}

/** Maximum characters of all items in memory. */
const MAX_CHARACTERS = Math.min(16 * 2 ** 20, getHeapStatistics().heap_size_limit / 32)
/** Size of an item's key and entry, in characters. */
const ENTRY_OVERHEAD = 256

/** Items that clients received lately, by key. The least recently used ones are dropped first, or all of a key. */
export class GivenItems {
  readonly #shares = new Map<string | null, MemoryShare>()
  readonly #items = new LRUCache<string, GivenItem>({
    maxSize: MAX_CHARACTERS,
    maxEntrySize: MAX_CHARACTERS / 16,
    sizeCalculation: sizeOf,
    dispose: (given) => this.#shares.get(given.keyName)?.give(sizeOf(given)),
  })

  add(items: readonly string[], { idOf }: NamedItems, origin: Origin): void {
    for (const item of items) {
      const id = idOf(item)
      // A slice would retain the whole answer.
      const copy = Buffer.from(item).toString()
      if (id !== null) this.#add(nameOf(id, origin.keyName), { ...origin, item: copy })
    }
  }

  #add(name: string, given: GivenItem): void {
    const { keyName } = given
    const share = this.#shares.get(keyName) ?? MEMORY.open(keyName, 'cache', () => this.#forgetKey(keyName))
    this.#shares.set(keyName, share)
    if (!share.take(sizeOf(given))) return
    this.#items.set(name, given)
    if (this.#items.peek(name) !== given) share.give(sizeOf(given)) // it is too large
  }

  #forgetKey(keyName: string | null): void {
    this.#shares.delete(keyName)
    for (const [name, given] of this.#items.entries()) if (given.keyName === keyName) this.#items.delete(name)
  }

  /** Forgets the items of an answer, because its client deletes it. */
  forget(answerId: string, keyName: string | null): void {
    for (const [name, given] of this.#items.entries())
      if (given.answerId === answerId && given.keyName === keyName) this.#items.delete(name)
  }

  get(id: string, keyName: string | null): GivenItem | undefined {
    return this.#items.get(nameOf(id, keyName))
  }
}

const sizeOf = ({ item }: GivenItem): number => item.length + ENTRY_OVERHEAD

const nameOf = (id: string, keyName: string | null): string => JSON.stringify([id, keyName])

// The one account of all memory that clients, providers and the store can make this process hold: bodies, messages,
// answers in transit and unread, conversations. Bytes are taken before they are allocated. There is one limit for each
// key and one for all. Beyond a limit, the newest demand of the key that holds the most is refused, or its connection is
// closed, and all others go on. Knows keys only by name.
import { getHeapStatistics } from 'node:v8'
import { LRUCache } from 'lru-cache'
import { clock } from './clock.ts'

/** Limits in bytes of memory. */
export interface MemoryLimits {
  readonly all: number
  readonly perKey: number
}

/** What can be done about a share when memory is short, in the order in which it is done. */
type Kind =
  /** Can be dropped and made again. The least recently changed share is dropped first. */
  | 'cache'
  /** Waits for a client that reads slowly. The connection that has waited longest is closed first. */
  | 'unread'
  /** A request, an answer or a message. The newest demand is refused first. */
  | 'demand'

interface KeyAccount {
  bytes: number
  /** Shares of each kind, oldest first. */
  readonly shares: Record<Kind, Set<MemoryShare>>
}

/** Memory of a request as text and as values, for each byte that arrives. */
export const REQUEST_WEIGHT = 3
/** Memory of an answer as bytes and as text, for each byte that arrives. */
export const ANSWER_WEIGHT = 2

/** Time that clients have to read their answers when many arrive at once, ms. */
const PATIENCE_MS = 1_000

/** Part of the limit for all that a key may always use, whatever others hold. */
const ALWAYS_FREE = 1 / 16
/** Part of each limit that only small shares may use, so that large requests do not keep out small ones. */
const FOR_SMALL = 1 / 8
/** Largest small share, bytes. */
const SMALL_BYTES = 2 ** 18

/**
 * Returns the limits of this process. Half of the heap remains for everything else, and for what a parser needs while
 * it works. `oneRequest`: largest request, bytes; two fit even into a small heap. `hasSeveralKeys`: no key uses more
 * than half of the memory, except for one request.
 */
export function memoryLimits(
  oneRequest: number,
  hasSeveralKeys: boolean,
  wanted = Math.max(
    getHeapStatistics().heap_size_limit / 2,
    (2 * REQUEST_WEIGHT * oneRequest) / (1 - FOR_SMALL),
  ),
): MemoryLimits {
  const one = (REQUEST_WEIGHT * oneRequest) / (1 - FOR_SMALL)
  const all = Math.max(wanted, one)
  return { all, perKey: hasSeveralKeys ? Math.max(all / 2, one) : all }
}

export class MemoryAccount {
  #limits: MemoryLimits
  #bytes = 0
  readonly #keys = new Map<string | null, KeyAccount>()
  /** An empty account of a key without shares, for the next key. Often, a key has one call at a time. */
  #spare: KeyAccount | null = null

  constructor(limits: MemoryLimits) {
    this.#limits = limits
  }

  configure(limits: MemoryLimits): void {
    this.#limits = limits
  }

  /** Bytes that are taken. */
  get bytes(): number {
    return this.#bytes
  }

  /** Returns true if another key holds something. */
  hasOtherKeys(keyName: string | null): boolean {
    return this.#keys.size > (this.#keys.has(keyName) ? 1 : 0)
  }

  /**
   * Opens an empty share of a key. `giveUp`: ends what holds the bytes. Null while that is not possible.
   */
  open(keyName: string | null, kind: Kind, giveUp: MemoryShare['giveUp'] = null): MemoryShare {
    let key = this.#keys.get(keyName)
    if (!key) {
      key = this.#spare ?? { bytes: 0, shares: { cache: new Set(), unread: new Set(), demand: new Set() } }
      this.#spare = null
      this.#keys.set(keyName, key)
    }
    const share = new MemoryShare(this, keyName, kind, giveUp)
    key.shares[kind].add(share)
    return share
  }

  /** Changes the bytes of a share. Returns false, and changes nothing, if there is no room. For `MemoryShare`. */
  change(share: MemoryShare, by: number, isAllocated: boolean): boolean {
    const key = this.#keys.get(share.keyName)!
    key.bytes += by
    this.#bytes += by
    const part = share.bytes <= SMALL_BYTES ? 1 : 1 - FOR_SMALL
    const limits = this.#limits
    if (by <= 0 || (key.bytes <= part * limits.perKey && this.#bytes <= part * limits.all)) return true
    if (this.#makeRoom(share, key, isAllocated, part)) return true
    if (isAllocated) return true
    key.bytes -= by
    this.#bytes -= by
    return false
  }

  /** Forgets a share, which must be empty. For `MemoryShare`. */
  forget(share: MemoryShare): void {
    const key = this.#keys.get(share.keyName)!
    const { cache, unread, demand } = key.shares
    key.shares[share.kind].delete(share)
    if (cache.size + unread.size + demand.size > 0) return
    this.#keys.delete(share.keyName)
    this.#spare = key
  }

  #makeRoom(share: MemoryShare, key: KeyAccount, isAllocated: boolean, part: number): boolean {
    const [all, perKey] = [part * this.#limits.all, part * this.#limits.perKey]
    const isKeyFull = () => key.bytes > perKey
    if (isKeyFull() && !this.#reclaim(key, share, isAllocated, isKeyFull)) return false
    while (this.#bytes > all) {
      if (key.bytes <= all * ALWAYS_FREE) return true
      const greediest = [...this.#keys.values()].reduce((most, each) =>
        each.bytes > most.bytes ? each : most,
      )
      const before = this.#bytes
      const isFull = () => this.#bytes > all && greediest.bytes >= key.bytes
      if (!this.#reclaim(greediest, share, isAllocated, isFull) || this.#bytes === before) return false
    }
    return true
  }

  /** Moves a share behind all others of its kind, because it has just begun to hold bytes, or was used. For `MemoryShare`. */
  renew(share: MemoryShare): void {
    const shares = this.#keys.get(share.keyName)!.shares[share.kind]
    shares.delete(share)
    shares.add(share)
  }

  /** Ends what a key holds until `isFull` returns false. Returns false if it is `share` that must be refused. */
  #reclaim(key: KeyAccount, share: MemoryShare, isAllocated: boolean, isFull: () => boolean): boolean {
    for (const each of inOrder(key.shares)) {
      if (!isFull()) return true
      if (each === share && !isAllocated) return false // the newest demand
      if (each.bytes > 0) each.drop()
    }
    return !isFull()
  }
}

/** Returns what may be given up, first what costs least. */
function* inOrder({ cache, unread, demand }: KeyAccount['shares']): Generator<MemoryShare> {
  const late = clock.monotonic() - PATIENCE_MS
  yield* cache
  for (const each of unread)
    if (each.since < late) yield each
    else if (each.bytes > 0) break
  yield* [...demand].reverse()
  yield* unread
}

/** Bytes that one holder has taken. */
export class MemoryShare {
  readonly keyName: string | null
  readonly kind: Kind
  /** Start of the wait, for bytes that wait for a client; ms of the `performance` clock. */
  since = clock.monotonic()
  bytes = 0
  giveUp: (() => void) | null
  readonly #memory: MemoryAccount
  #isOpen = true

  constructor(memory: MemoryAccount, keyName: string | null, kind: Kind, giveUp: (() => void) | null) {
    this.#memory = memory
    this.keyName = keyName
    this.kind = kind
    this.giveUp = giveUp
  }

  /** Takes bytes that are about to be allocated. Returns false if there is no room. */
  take(bytes: number): boolean {
    if (!this.#isOpen) return false
    this.bytes += bytes
    if (this.#memory.change(this, bytes, false)) return this.#isOpen
    this.bytes -= bytes
    return false
  }

  /** Counts bytes that are already allocated. If they do not fit, something is given up, perhaps this share. */
  set(bytes: number): void {
    if (!this.#isOpen) return
    const by = bytes - this.bytes
    if (by === 0) return
    if (this.bytes === 0 || this.kind === 'cache') {
      this.since = clock.monotonic()
      this.#memory.renew(this)
    }
    this.bytes = bytes
    this.#memory.change(this, by, true)
  }

  /** Gives up what holds the bytes, if that is possible. */
  drop(): void {
    if (this.giveUp === null) return
    const { giveUp } = this
    this.giveUp = null
    this.release()
    giveUp()
  }

  /** Gives bytes back. */
  give(bytes: number): void {
    this.set(this.bytes - Math.min(bytes, this.bytes))
  }

  /** Gives everything back. */
  release(): void {
    if (!this.#isOpen) return
    this.set(0)
    this.#isOpen = false
    this.#memory.forget(this)
  }
}

/** The account of this process. */
export const MEMORY = new MemoryAccount(memoryLimits(20 * 2 ** 20, false))

/**
 * Returns a table of at most `max` entries, which drops the least recently used. Its room grows with its entries: a
 * cache with `max` would reserve all of it at once, which takes as long as the rest of a gateway's start.
 */
export const recent = <Value extends {}>(max: number): LRUCache<string, Value> =>
  new LRUCache({ maxSize: max, sizeCalculation: () => 1 })

// Limits the number of open calls, of all keys together and of each. With several keys, each may have at most half, so
// that no key blocks the others. Each slot has a share of the memory. Knows keys only by name.
import { GatewayError } from '../core/errors.ts'
import { MEMORY, type MemoryShare, REQUEST_WEIGHT } from '../shared/memory.ts'

interface SlotLimits {
  /** Maximum open calls. */
  readonly calls: number
  /** True if there are several keys. */
  readonly shared: boolean
}

/** Slot of one open call. */
export interface CallSlot {
  /** Name of the key; null without keys. */
  readonly keyName: string | null
  /**
   * Takes memory for more bytes of the body, before they are allocated. If there is none, now or later before `complete`,
   * calls `refuse`.
   */
  hold(bytes: number, refuse: (error: GatewayError) => void): void
  /** Marks the body as complete. Its bytes stay taken until the call ends. */
  complete(): void
  /** Takes memory for something else that the call holds. Throws `overloaded` if there is none. */
  take(bytes: number): void
  /** Gives back memory that `hold` took for as many bytes. */
  give(bytes: number): void
  /** Releases the slot at the end of the call. */
  leave(): void
}

export interface CallSlots {
  configure(limits: SlotLimits): void
  /** Returns a slot. Throws `overloaded` if there is no room for another call. */
  take(keyName: string | null): CallSlot
}

/** Time after which a slot or memory is usually free, s. */
const RETRY_S = 1

/** Creates the slots. `noun`: name of the calls in errors. */
export function createCallSlots(noun: 'calls' | 'reads'): CallSlots {
  let limits: SlotLimits
  let open = 0
  const perKey = new Map<string | null, number>()
  const ofKey = (keyName: string | null) => perKey.get(keyName) ?? 0
  const count = (keyName: string | null, by: number) => {
    open += by
    const now = ofKey(keyName) + by
    if (now === 0) perKey.delete(keyName)
    else perKey.set(keyName, now)
  }
  return {
    configure(wanted) {
      limits = wanted
    },
    take(keyName) {
      const { calls, shared } = limits
      if (open >= calls) throw overloaded(`${open} ${noun} are open; the limit is ${calls}`)
      if (ofKey(keyName) >= (shared ? Math.ceil(calls / 2) : calls))
        throw overloaded(
          `the key "${keyName}" has ${ofKey(keyName)} open ${noun}, which is half of the limit`,
        )
      count(keyName, 1)
      return new Slot(MEMORY.open(keyName, 'demand'), () => count(keyName, -1))
    },
  }
}

class Slot implements CallSlot {
  readonly #share: MemoryShare
  readonly #onLeave: () => void
  #hasLeft = false

  constructor(share: MemoryShare, onLeave: () => void) {
    this.#share = share
    this.#onLeave = onLeave
  }

  get keyName(): string | null {
    return this.#share.keyName
  }

  hold(bytes: number, refuse: (error: GatewayError) => void): void {
    this.#share.giveUp ??= () => refuse(noMemory())
    if (!this.#share.take(REQUEST_WEIGHT * bytes)) this.#share.drop()
  }

  complete(): void {
    this.#share.giveUp = null
  }

  take(bytes: number): void {
    if (!this.#share.take(bytes)) throw noMemory()
  }

  give(bytes: number): void {
    this.#share.give(REQUEST_WEIGHT * bytes)
  }

  leave(): void {
    if (this.#hasLeft) return
    this.#hasLeft = true
    this.#share.release()
    this.#onLeave()
  }
}

/** Returns the error for a demand that does not fit into the memory. */
export const noMemory = (): GatewayError => overloaded('the open calls fill the memory set aside for them')

const overloaded = (what: string): GatewayError =>
  new GatewayError('overloaded', `Too much at once: ${what}. Try again in ${RETRY_S} s.`, {
    retryAfter: RETRY_S,
  })

// What all open calls may hold together: how many there are, and how many bytes of request bodies. One key of several
// never gets more than half, so that no key can shut out the others. Knows keys by their names only.
import { getHeapStatistics } from 'node:v8'
import { GatewayError } from '../errors.ts'

export interface SlotLimits {
  /** Calls that may be open. */
  readonly calls: number
  /** Bytes of bodies that they may hold. */
  readonly bodyBytes: number
  /** Bytes that one body may have. A key that has nothing else open can always send one. */
  readonly oneBody: number
  /** Whether there are several keys. */
  readonly shared: boolean
}

/** The place of one open call. */
export interface CallSlot {
  /**
   * So many more bytes of its body are held. Where that is too much, the largest body that is still coming in is
   * refused: that may be another's, and clients that send small ones do not wait for those that send large ones.
   */
  hold(bytes: number, refuse: (error: GatewayError) => void): void
  /** The body is there: from now on it is held to the end of the call. */
  complete(): void
  /** The call is over. */
  leave(): void
}

export interface CallSlots {
  configure(limits: SlotLimits): void
  /** Throws `overloaded` when there is no room for another call. */
  take(keyName: string | null): CallSlot
}

/** Bytes for bodies where the configuration does not say: a body costs some three times its size in memory. */
export const defaultBodyBytes = (oneBody: number): number =>
  Math.max(getHeapStatistics().heap_size_limit / 8, 2 * oneBody)

/** Usually another call ends, or another body is complete, within this time, s. */
const RETRY_S = 1

interface Held {
  bytes: number
  /** There while the body is coming in. */
  refuse: ((error: GatewayError) => void) | null
  readonly keyName: string | null
}

/** `noun` is what errors call them. */
export function createCallSlots(noun: 'calls' | 'reads'): CallSlots {
  let limits: SlotLimits
  const open = new Set<Held>()
  const perKey = new Map<string | null, { calls: number; bytes: number }>()
  let bytes = 0

  const ofKey = (keyName: string | null) => perKey.get(keyName) ?? { calls: 0, bytes: 0 }
  const count = (held: Held, calls: number, more: number) => {
    bytes += more
    held.bytes += more
    const sum = ofKey(held.keyName)
    const now = { calls: sum.calls + calls, bytes: sum.bytes + more }
    if (now.calls === 0) perKey.delete(held.keyName)
    else perKey.set(held.keyName, now)
  }
  const share = (all: number) => (limits.shared ? Math.ceil(all / 2) : all)

  return {
    configure(wanted) {
      limits = wanted
    },
    take(keyName) {
      if (open.size >= limits.calls)
        throw overloaded(`${open.size} ${noun} are open; the limit is ${limits.calls}`)
      if (ofKey(keyName).calls >= share(limits.calls))
        throw overloaded(
          `the key "${keyName}" has ${ofKey(keyName).calls} open ${noun}, which is half of the limit`,
        )
      const held: Held = { bytes: 0, refuse: null, keyName }
      open.add(held)
      count(held, 1, 0)
      return {
        hold(more, refuse) {
          if (!open.has(held)) return
          held.refuse = refuse
          count(held, 0, more)
          while (tooMuch(keyName)) {
            const largest = largestUnfinished(bytes > limits.bodyBytes ? null : { keyName })
            if (!largest) return
            const { refuse } = largest
            count(largest, 0, -largest.bytes)
            largest.refuse = null
            refuse!(overloaded('the bodies of the open calls fill the memory set aside for them'))
          }
        },
        complete() {
          held.refuse = null
        },
        leave() {
          if (!open.delete(held)) return
          count(held, -1, -held.bytes)
        },
      }
    },
  }

  function tooMuch(keyName: string | null): boolean {
    if (bytes > limits.bodyBytes) return true
    return ofKey(keyName).bytes > Math.max(share(limits.bodyBytes), limits.oneBody)
  }

  function largestUnfinished(of: { keyName: string | null } | null): Held | null {
    let largest: Held | null = null
    for (const each of open)
      if (each.refuse && (!of || each.keyName === of.keyName) && each.bytes > (largest?.bytes ?? 0))
        largest = each
    return largest
  }
}

const overloaded = (what: string): GatewayError =>
  new GatewayError('overloaded', `Too much at once: ${what}. Try again in ${RETRY_S} s.`, {
    retryAfter: RETRY_S,
  })

// Limits all open calls together: their number, and the bytes of their request bodies. With several keys,
// none gets more than half, so that no key can shut out the others. Knows keys only by name.
import { getHeapStatistics } from 'node:v8'
import { GatewayError } from '../core/errors.ts'

export interface SlotLimits {
  /** Maximum open calls. */
  readonly calls: number
  /** Maximum bytes of their bodies. */
  readonly bodyBytes: number
  /** Maximum bytes of one body. A key that has nothing else open can always send one. */
  readonly oneBody: number
  /** True if there are several keys. */
  readonly shared: boolean
}

/** Slot of one open call. */
export interface CallSlot {
  /**
   * Reserves further bytes for its body. At the limit, the largest body that is still arriving is refused,
   * which may be another call's: clients that send small ones do not wait for those that send large ones.
   */
  hold(bytes: number, refuse: (error: GatewayError) => void): void
  /** The body is complete: its bytes stay reserved until the call ends. */
  complete(): void
  /** The call has ended. */
  leave(): void
}

export interface CallSlots {
  configure(limits: SlotLimits): void
  /** Throws `overloaded` if there is no room for another call. */
  take(keyName: string | null): CallSlot
}

/** Returns the default bytes for all bodies: a body costs some three times its size in memory. */
export const defaultBodyBytes = (oneBody: number): number =>
  Math.max(getHeapStatistics().heap_size_limit / 8, 2 * oneBody)

/** Time within which another call usually ends, or another body is complete, s. */
const RETRY_S = 1

interface Held {
  bytes: number
  /** Present while the body is arriving. */
  refuse: ((error: GatewayError) => void) | null
  readonly keyName: string | null
}

/** `noun`: name of the calls in errors. */
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

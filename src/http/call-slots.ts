// Limits all open calls together by their number and by the bytes of their request bodies. With several keys,
// each may use at most half, so that no key blocks the other keys. Knows keys only by name.
import { getHeapStatistics } from 'node:v8'
import { GatewayError } from '../core/errors.ts'

export interface SlotLimits {
  /** Maximum open calls. */
  readonly calls: number
  /** Maximum bytes of all request bodies. */
  readonly bodyBytes: number
  /** Maximum bytes of one body. A key without other open calls can always send such a body. */
  readonly oneBody: number
  /** True if there are several keys. */
  readonly shared: boolean
}

/** Slot of one open call. */
export interface CallSlot {
  /**
   * Reserves more bytes for the body. At the limit, the largest body that is still arriving is refused, even
   * if it belongs to another call. Clients with small bodies therefore do not wait for clients with large
   * bodies.
   */
  hold(bytes: number, refuse: (error: GatewayError) => void): void
  /** Marks the body as complete. Its bytes stay reserved until the call ends. */
  complete(): void
  /** Releases the slot at the end of the call. */
  leave(): void
}

export interface CallSlots {
  configure(limits: SlotLimits): void
  /** Returns a slot. Throws `overloaded` if there is no room for another call. */
  take(keyName: string | null): CallSlot
}

/** Returns the default limit for all bodies, bytes. A body costs some three times its size in memory. */
export const defaultBodyBytes = (oneBody: number): number =>
  Math.max(getHeapStatistics().heap_size_limit / 8, 2 * oneBody)

/** Time after which a slot or body space is usually free, s. */
const RETRY_S = 1

interface Held {
  bytes: number
  /** Refuses the call; null once its body is complete. */
  refuse: ((error: GatewayError) => void) | null
  readonly keyName: string | null
}

/** Creates the slots. `noun`: name of the calls in errors. */
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

// What this instance may spend of each key's budget: a lease of the shared budget, from which calls are admitted in memory.
// When it does not suffice, a new one is requested, for twice what the last ten seconds cost; one request at a time for
// each key. What is not needed for ten seconds is given back. Knows no SQL.
import type { Asks } from './protocol.ts'

/** A call that is let in sets aside what it may cost, and no more than this part of the budget: an estimate must not use up what has not been spent. */
const MOST_OF_BUDGET = 0.01
/** A lease is for so many calls at least, so that not every call asks, but for no more than this part of the budget. */
const STEP_CALLS = 10
const STEP_OF_BUDGET = 0.05
/** What was spent in this time says how much is asked for, s. */
const WINDOW = 10
/** A budget that had nothing left is not asked again for so long, ms. */
const REFUSED_MS = 1_000

export interface LeaseDeps {
  /** What the instance's calls of the month count, US dollars. */
  spent(keyName: string, at: number): number
  /** What is set aside for its open calls. */
  reserved(keyName: string): number
  ask(request: Asks['lease'][0]): Promise<number | null>
  /** Milliseconds since the epoch. */
  now(): number
}

/** Why a call is not let in. */
export type Uncovered = 'spent' | 'unreachable'

export interface Leases {
  /** What is set aside for a call that may cost `usd`; null if it is not known what it may cost. */
  claimed(usd: number | null, budget: number): number
  /** Lets a call in that may cost so much, calling `admit` in the same moment; else says why not. */
  cover(
    keyName: string,
    usd: number,
    budget: number,
    admit: () => void,
  ): Uncovered | null | Promise<Uncovered | null>
  /** Once a second: what the shared log says was granted. Returns what can be given back. */
  beat(): { keyName: string; month: string; usd: number } | null
  heard(granted: Readonly<Record<string, number>>, month: string): void
}

interface Lease {
  granted: number
  /** What had been spent at each of the last seconds, newest last. */
  history: number[]
  asking: Promise<Uncovered | null> | null
  /** What those need who wait for the answer. */
  needed: number
  refusedAt: number
}

export const monthOf = (at: number): string => new Date(at).toISOString().slice(0, 7)

export function createLeases({ spent, reserved, ask, now }: LeaseDeps): Leases {
  const leases = new Map<string, Lease>()
  let month = monthOf(now())
  const leaseOf = (keyName: string): Lease => {
    if (monthOf(now()) !== month) {
      month = monthOf(now())
      leases.clear()
    }
    let lease = leases.get(keyName)
    if (!lease) {
      lease = { granted: 0, history: [], asking: null, needed: 0, refusedAt: Number.NEGATIVE_INFINITY }
      leases.set(keyName, lease)
    }
    return lease
  }
  const used = (keyName: string) => spent(keyName, now()) + reserved(keyName)
  const recent = ({ history }: Lease, keyName: string) =>
    history.length === 0 ? 0 : spent(keyName, now()) - history[0]!

  async function take(keyName: string, lease: Lease, usd: number, budget: number): Promise<Uncovered | null> {
    const missing = used(keyName) - lease.granted
    const need = Math.max(0, missing) + Math.min(lease.needed, budget * MOST_OF_BUDGET)
    const step = need + Math.min(STEP_CALLS * usd, budget * STEP_OF_BUDGET)
    const want = Math.max(2 * recent(lease, keyName), lease.needed + Math.max(0, missing), step)
    try {
      const granted = await ask({ keyName, month, budget, need, want, step })
      if (granted === null) {
        lease.refusedAt = now()
        return 'spent'
      }
      lease.granted = granted
      return null
    } catch {
      return 'unreachable'
    }
  }

  async function wait(
    keyName: string,
    usd: number,
    budget: number,
    admit: () => void,
  ): Promise<Uncovered | null> {
    const lease = leaseOf(keyName)
    lease.needed += usd
    try {
      for (;;) {
        lease.asking ??= take(keyName, lease, usd, budget).finally(() => {
          lease.asking = null
        })
        const why = await lease.asking
        if (lease.granted - used(keyName) >= usd) {
          admit()
          return null
        }
        if (why !== null) return why
      }
    } finally {
      lease.needed -= usd
    }
  }

  return {
    claimed: (usd, budget) => Math.min(usd ?? Number.POSITIVE_INFINITY, budget * MOST_OF_BUDGET),
    cover(keyName, usd, budget, admit) {
      const lease = leaseOf(keyName)
      if (lease.granted - used(keyName) >= usd) {
        admit()
        return null
      }
      if (now() - lease.refusedAt < REFUSED_MS) return 'spent'
      return wait(keyName, usd, budget, admit)
    },
    beat() {
      let back: ReturnType<Leases['beat']> = null
      for (const [keyName, lease] of leases) {
        const sum = spent(keyName, now())
        const idle = lease.history.length >= WINDOW && lease.history[0] === sum && reserved(keyName) === 0
        lease.history = [...lease.history.slice(1 - WINDOW), sum]
        const unused = lease.granted - sum
        if (!idle || back || lease.asking || unused <= 0) continue
        lease.granted -= unused
        back = { keyName, month, usd: unused }
      }
      return back
    },
    heard(granted, of) {
      if (of !== month) return
      for (const [keyName, usd] of Object.entries(granted)) {
        const lease = leaseOf(keyName)
        if (!lease.asking) lease.granted = usd
      }
    },
  }
}

// The part of each key's budget that this instance may spend: a lease of the shared budget, from which calls
// are admitted in memory. If it does not suffice, a new one is requested, for twice the cost of the last ten
// seconds; one request at a time per key. Leases shrink as the budget runs out: the excess over a fair share
// of the rest is returned within a second, and so is anything unused for ten seconds. Knows no SQL.
import type { Asks } from './protocol.ts'

/** Share of the budget that a call of unknown cost reserves. */
const UNKNOWN_OF_BUDGET = 0.01
/** A lease covers at least this many calls, to limit requests, but at most this share of the budget. */
const STEP_CALLS = 10
const STEP_OF_BUDGET = 0.05
/** A smaller share of the budget counts as zero: floating-point sums differ by as much. */
const NOTHING_OF_BUDGET = 1e-9
/** Time over which spending is measured to size a request, s. */
const WINDOW_S = 10
/** Delay before asking again for a spent budget, ms; for one that others have only reserved, less. */
const SPENT_MS = 1_000
const HELD_MS = 200

export interface LeaseDeps {
  /** Returns the spending of this instance's calls in the month, US dollars. */
  spent(keyName: string, at: number): number
  /** Returns the amount reserved for its open calls. */
  reserved(keyName: string): number
  /** Returns the spending that the other instances have reported this month, US dollars. */
  spentElsewhere(keyName: string): number
  /** Number of instances. */
  live(): number
  ask(request: Asks['lease'][0]): Promise<number | null>
  /** Milliseconds since the epoch. */
  now(): number
}

/** Reason to refuse a call. */
export type Uncovered = 'spent' | 'unreachable'

export interface Leases {
  /** Returns the amount to reserve for a call of at most `usd` (null: unknown). */
  claimed(usd: number | null, budget: number): number
  /** Admits a call of this cost, calling `admit` in the same tick; otherwise returns the reason. */
  cover(
    keyName: string,
    usd: number,
    budget: number,
    admit: () => void,
  ): Uncovered | null | Promise<Uncovered | null>
  /** Reconciles with the shared log once a second. Returns the amount to give back. */
  beat(): { keyName: string; month: string; usd: number } | null
  heard(granted: Readonly<Record<string, number>>, month: string): void
}

interface Lease {
  granted: number
  /** The whole budget, according to the last call. */
  budget: number
  /** Cumulative spending at each recent second, newest last. */
  history: number[]
  asking: Promise<Uncovered | null> | null
  /** Sum that the waiting calls need. */
  needed: number
  refusedAt: number
}

export const monthOf = (at: number): string => new Date(at).toISOString().slice(0, 7)

export function createLeases(deps: LeaseDeps): Leases {
  const { spent, reserved, ask, now } = deps
  const { freeOf, isLast, shareOf, wasRefused, recent } = measuresOf(deps)
  const leases = new Map<string, Lease>()
  let month = monthOf(now())
  const leaseOf = (keyName: string): Lease => {
    if (monthOf(now()) !== month) {
      month = monthOf(now())
      leases.clear()
    }
    let lease = leases.get(keyName)
    if (!lease) {
      lease = newLease()
      leases.set(keyName, lease)
    }
    return lease
  }
  async function take(keyName: string, lease: Lease, usd: number, budget: number): Promise<Uncovered | null> {
    const free = freeOf(lease, keyName)
    const need = usd - free
    const step = need + usd * Math.floor(Math.min(STEP_CALLS, (budget * STEP_OF_BUDGET) / usd) || 0)
    const want = Math.max(2 * recent(lease, keyName), lease.needed - free, step)
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
        const isCovered = freeOf(lease, keyName) >= usd
        if (isCovered || (why === 'spent' && isLast(lease, keyName, usd))) {
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
    claimed: (usd, budget) => usd ?? budget * UNKNOWN_OF_BUDGET,
    cover(keyName, usd, budget, admit) {
      const lease = leaseOf(keyName)
      lease.budget = budget
      const free = freeOf(lease, keyName)
      const refused = free < usd && wasRefused(lease, keyName)
      if (free >= usd || (refused && isLast(lease, keyName, usd))) {
        admit()
        return null
      }
      return refused ? 'spent' : wait(keyName, usd, budget, admit)
    },
    beat() {
      let back: ReturnType<Leases['beat']> = null
      for (const [keyName, lease] of leases) {
        const sum = spent(keyName, now())
        const free = freeOf(lease, keyName)
        const idle = lease.history.length >= WINDOW_S && lease.history[0] === sum && reserved(keyName) === 0
        lease.history = [...lease.history.slice(1 - WINDOW_S), sum]
        const kept = idle ? 0 : shareOf(lease, keyName)
        if (back || lease.asking || free <= 2 * kept) continue
        lease.granted -= free - kept
        back = { keyName, month, usd: free - kept }
      }
      if (back) putLast(leases, back.keyName) // the next beat begins with the other keys
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

const newLease = (): Lease => ({
  granted: 0,
  budget: 0,
  history: [],
  asking: null,
  needed: 0,
  refusedAt: Number.NEGATIVE_INFINITY,
})

/** Makes the functions that compare a lease with the spending here and elsewhere. */
function measuresOf({ spent, reserved, spentElsewhere, live, now }: LeaseDeps) {
  /** Returns the rest of the lease for further calls; negative if calls cost more than was reserved. */
  const freeOf = (lease: Lease, keyName: string) => lease.granted - spent(keyName, now()) - reserved(keyName)
  /** As with a single gateway, the last call may cost more than is left; nothing is left after it. */
  const isLast = (lease: Lease, keyName: string, usd: number) =>
    usd > 0 && freeOf(lease, keyName) > lease.budget * NOTHING_OF_BUDGET
  /** Returns the amount that all instances have not spent, as far as known. */
  const unspentOf = ({ budget }: Lease, keyName: string) =>
    Math.max(0, budget - spent(keyName, now()) - spentElsewhere(keyName))
  /** Returns the intended maximum of a lease. */
  const shareOf = (lease: Lease, keyName: string) => unspentOf(lease, keyName) / 4 / Math.max(1, live())
  const wasRefused = (lease: Lease, keyName: string) =>
    now() - lease.refusedAt < (unspentOf(lease, keyName) > 0 ? HELD_MS : SPENT_MS)
  const recent = ({ history }: Lease, keyName: string) =>
    history.length === 0 ? 0 : spent(keyName, now()) - history[0]!
  return { freeOf, isLast, shareOf, wasRefused, recent }
}

function putLast(leases: Map<string, Lease>, keyName: string): void {
  const lease = leases.get(keyName)!
  leases.delete(keyName)
  leases.set(keyName, lease)
}

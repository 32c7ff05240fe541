// Limits of keys over the whole fleet. Leases are parts of a shared budget that this instance may spend. Calls are admitted
// from a lease in memory. If a lease does not suffice, the next one is requested for twice the cost of the last ten seconds.
// Each budget has at most one open request. Leases shrink as the budget runs out. The excess over a fair share of the rest is
// returned within a second. Amounts unused for ten seconds are also returned. Contains no SQL.

import { RateLimiterMemory, type RateLimiterRes } from 'rate-limiter-flexible'
import { type Account, accountName } from '../core/period.ts'
import type { Amount, RateRequest } from '../store/shared-log.ts'
import type { Asks } from './thread.ts'

/** Share of the budget that a call of unknown cost reserves. */
const UNKNOWN_OF_BUDGET = 0.01
/** Minimum number of calls that a lease covers, to limit requests, and its maximum share of the budget. */
const STEP_CALLS = 10
const STEP_OF_BUDGET = 0.05
/** Share of the budget below which an amount counts as zero, because floating-point sums are inexact. */
const NOTHING_OF_BUDGET = 1e-9
/** Period over which spending is measured to size a request, s. */
const WINDOW_S = 10
/** Time after which an unused lease is forgotten, s. */
const FORGET_S = 60
/**
 * Delay before the next request for a spent budget, ms. The delay is shorter if the amount is only reserved
 * elsewhere.
 */
const SPENT_MS = 1_000
const HELD_MS = 200

/** A budget shared by all instances. */
interface SharedBudget extends Account {
  /** Total budget, US dollars. */
  readonly usd: number
}

export interface LeaseDeps {
  /** Returns the spending of this instance's calls, US dollars. */
  spent(account: Account): number
  /** Returns the amount reserved for this instance's open calls. */
  reserved(account: Account): number
  /** Returns the spending that the other instances have reported, US dollars. */
  spentElsewhere(account: Account): number
  /** Number of instances. */
  live(): number
  ask(request: Asks['lease'][0]): Promise<number | null>
  /** Milliseconds since the epoch. */
  now(): number
}

/** Reason to refuse a call, and the budget at fault. */
interface Uncovered {
  readonly why: 'spent' | 'unreachable'
  readonly budget: SharedBudget
}

export interface Leases {
  /** Returns the amount to reserve for a call of at most `usd` (null: unknown). */
  claimed(usd: number | null, budgets: readonly SharedBudget[]): number
  /** Admits a call if all budgets cover its cost. Calls `admit` in the same tick. */
  cover(
    budgets: readonly SharedBudget[],
    usd: number,
    admit: () => void,
  ): Uncovered | null | Promise<Uncovered | null>
  /** Reconciles with the shared log once a second. Returns the amount to give back. */
  beat(): Amount | null
  /** Periods for which this instance has leases. */
  periods(): string[]
  heard(granted: readonly Amount[]): void
}

interface Lease {
  readonly account: Account
  granted: number
  /** Total budget, as stated by the last call. */
  budget: number
  /** Cumulative spending at each recent second, newest last. */
  history: number[]
  /** Seconds without any use of the lease. */
  idle: number
  asking: Promise<Uncovered['why'] | null> | null
  /** Total amount that the waiting calls need. */
  needed: number
  refusedAt: number
}

export function createLeases(deps: LeaseDeps): Leases {
  const { spent } = deps
  const measures = measuresOf(deps)
  const { covers, wasRefused } = measures
  const leases = new Map<string, Lease>()
  const leaseOf = (account: Account): Lease => {
    const name = accountName(account)
    let lease = leases.get(name)
    if (!lease) {
      // The spent amount counts as granted. The next answer of the shared log has the exact amount.
      lease = newLease({ keyName: account.keyName, period: account.period }, spent(account))
      leases.set(name, lease)
    }
    return lease
  }
  async function wait(
    budgets: readonly SharedBudget[],
    usd: number,
    admit: () => void,
  ): Promise<Uncovered | null> {
    const held = budgets.map((budget) => ({ budget, lease: leaseOf(budget) }))
    for (const { lease } of held) lease.needed += usd
    try {
      for (;;) {
        const short = held.find(({ lease }) => !covers(lease, usd))
        if (!short) {
          admit()
          return null
        }
        const { lease, budget } = short
        lease.asking ??= take(lease, usd, deps, measures).finally(() => {
          lease.asking = null
        })
        const why = await lease.asking
        if (why !== null && !covers(lease, usd)) return { why, budget }
      }
    } finally {
      for (const { lease } of held) lease.needed -= usd
    }
  }

  return {
    claimed: (usd, budgets) => usd ?? Math.min(...budgets.map((budget) => budget.usd)) * UNKNOWN_OF_BUDGET,
    cover(budgets, usd, admit) {
      let isShort = false
      for (const budget of budgets) {
        const lease = leaseOf(budget)
        lease.budget = budget.usd
        if (covers(lease, usd)) continue
        if (wasRefused(lease)) return { why: 'spent', budget }
        isShort = true
      }
      if (isShort) return wait(budgets, usd, admit)
      admit()
      return null
    },
    beat: () => giveBack(leases, deps, measures),
    periods: () => [...new Set([...leases.values()].map(({ account }) => account.period))],
    heard(granted) {
      for (const { keyName, period, usd } of granted) {
        const account = { keyName, period }
        // The rest of a lease from before a restart is returned.
        const lease = leases.get(accountName(account)) ?? (usd > spent(account) ? leaseOf(account) : null)
        if (lease && !lease.asking) lease.granted = usd
      }
    },
  }
}

/** Requests a larger lease. Returns null if an amount was granted. */
async function take(
  lease: Lease,
  usd: number,
  { ask, now }: LeaseDeps,
  { freeOf, recent }: Measures,
): Promise<Uncovered['why'] | null> {
  const { account, budget } = lease
  const free = freeOf(lease)
  const need = usd - free
  const step = need + usd * Math.floor(Math.min(STEP_CALLS, (budget * STEP_OF_BUDGET) / usd) || 0)
  const want = Math.max(2 * recent(lease), lease.needed - free, step)
  try {
    const granted = await ask({ ...account, budget, need, want, step })
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

/** Counts the idle seconds of each lease. Returns the excess of a lease. */
function giveBack(
  leases: Map<string, Lease>,
  { spent, reserved }: LeaseDeps,
  { freeOf, shareOf }: Measures,
): Amount | null {
  let back: Amount | null = null
  for (const [name, lease] of leases) {
    const { account } = lease
    const sum = spent(account)
    const free = freeOf(lease)
    const isUsed = lease.history.at(-1) !== sum || reserved(account) > 0 || lease.needed > 0
    lease.idle = isUsed ? 0 : lease.idle + 1
    lease.history = [...lease.history.slice(1 - WINDOW_S), sum]
    const kept = lease.idle >= WINDOW_S ? 0 : shareOf(lease)
    if (lease.idle >= FORGET_S) leases.delete(name)
    if (back || lease.asking || free <= 2 * kept) continue
    lease.granted -= free - kept
    back = { ...account, usd: free - kept }
  }
  if (back) putLast(leases, accountName(back)) // the next heartbeat begins with the other leases
  return back
}

const newLease = (account: Account, granted: number): Lease => ({
  account,
  granted,
  budget: 0,
  history: [],
  idle: 0,
  asking: null,
  needed: 0,
  refusedAt: Number.NEGATIVE_INFINITY,
})

type Measures = ReturnType<typeof measuresOf>

/** Builds functions that compare a lease with the spending at this and other instances. */
function measuresOf({ spent, reserved, spentElsewhere, live, now }: LeaseDeps) {
  /** Returns the rest of the lease, for more calls. Negative if calls cost more than the reserved amounts. */
  const freeOf = ({ account, granted }: Lease) => granted - spent(account) - reserved(account)
  /** Returns the known unspent amount of the budget over all instances. */
  const unspentOf = ({ account, budget }: Lease) =>
    Math.max(0, budget - spent(account) - spentElsewhere(account))
  /** Returns the intended maximum of a lease. */
  const shareOf = (lease: Lease) => unspentOf(lease) / 4 / Math.max(1, live())
  const wasRefused = (lease: Lease) => now() - lease.refusedAt < (unspentOf(lease) > 0 ? HELD_MS : SPENT_MS)
  /**
   * Returns true for the last call of a budget. That call may cost more than the rest, as with a single
   * gateway.
   */
  const isLast = (lease: Lease, usd: number) => usd > 0 && freeOf(lease) > lease.budget * NOTHING_OF_BUDGET
  const covers = (lease: Lease, usd: number) =>
    freeOf(lease) >= usd || (wasRefused(lease) && isLast(lease, usd))
  const recent = ({ account, history }: Lease) => (history.length === 0 ? 0 : spent(account) - history[0]!)
  return { freeOf, covers, shareOf, wasRefused, recent }
}

function putLast(leases: Map<string, Lease>, name: string): void {
  const lease = leases.get(name)
  if (!lease) return
  leases.delete(name)
  leases.set(name, lease)
}

export interface FleetRates {
  /** Returns null if the call passes; otherwise the time to wait, ms. */
  consume(request: RateRequest): Promise<number | null>
  /** Number of calls counted without the shared log. */
  readonly fallbacks: number
}

/** Waiting time sent with a refusal while the rate cannot be counted, ms. */
const UNCOUNTED_MS = 1_000

/**
 * Limits a key's rate. While the shared log is unavailable, applies the configured fallback: this instance's share of the
 * rate, or no limit.
 */
export function createFleetRates(
  ask: (request: RateRequest) => Promise<number | null>,
  fallback: 'divide' | 'refuse',
  instances: () => number,
): FleetRates {
  const parts = new Map<string, RateLimiterMemory>()
  let fallbacks = 0
  /** Divides the rate by the number of live instances. */
  const partOf = ({ requests, per }: RateRequest): RateLimiterMemory => {
    const points = Math.max(1, Math.floor(requests / Math.max(1, instances())))
    const id = `${points}/${per}`
    const part = parts.get(id) ?? new RateLimiterMemory({ points, duration: per / 1000 })
    parts.set(id, part)
    return part
  }
  return {
    get fallbacks() {
      return fallbacks
    },
    async consume(request) {
      try {
        return await ask(request)
      } catch {
        fallbacks++
        if (fallback === 'refuse') return UNCOUNTED_MS
        return partOf(request)
          .consume(request.keyName)
          .then(
            () => null,
            (refused: RateLimiterRes) => refused.msBeforeNext,
          )
      }
    },
  }
}

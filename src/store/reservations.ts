// Reservations for the open calls of keys with a budget. Observes every write to the record. Adds the
// reserved amount to an opening, so that a killed gateway's calls are charged at the next start. Adds the
// charge to the end of an attempt without a reported cost. Independent of the database.
import type { Claim } from '../core/budget.ts'
import { usedNothing } from '../core/call.ts'
import { type Account, accountName, isSession, periodOf } from '../core/period.ts'
import type { Store } from './store.ts'
import type { EndedAttempt } from './writes.ts'

export interface Reservations {
  /** Returns US dollars reserved for the open calls of a key, or of one of its sessions. */
  reserved(account: Account): number
  /** Reserves the amount. Call before the call is opened. */
  add(claim: Claim): void
  /** Restores the reservation of a call that an earlier process opened. */
  resume(claim: Claim): void
  /** Ends the work for a call. If the call was opened, its end releases the reservation. */
  forget(callId: string): void
  /** The store's functions of the same names, observed for reservations. */
  readonly open: Store['open']
  readonly write: Store['write']
}

export function createReservations({ open, write }: Pick<Store, 'open' | 'write'>): Reservations {
  const claims = new Map<string, Claim>()
  /** Calls whose opening was written or is being written. */
  const opened = new Set<string>()
  /** Reserved sums by key, and by key and session. */
  const sums = new Map<string, { usd: number; calls: number }>()
  const change = ({ keyName, sessionId, usd }: Claim, sign: 1 | -1) => {
    const names = [keyName]
    if (sessionId !== null) names.push(accountName({ keyName, period: periodOf('session', 0, sessionId)! }))
    for (const name of names) {
      const sum = sums.get(name) ?? { usd: 0, calls: 0 }
      sum.usd += sign * usd
      sum.calls += sign
      // Without open calls nothing is reserved, even if the floating-point sum is not exactly zero.
      if (sum.calls === 0) sums.delete(name)
      else sums.set(name, sum)
    }
  }
  const drop = (callId: string) => {
    const claim = claims.get(callId)
    opened.delete(callId)
    if (claim && claims.delete(callId)) change(claim, -1)
  }

  return {
    reserved: (account) => sums.get(isSession(account) ? accountName(account) : account.keyName)?.usd ?? 0,
    add(claim) {
      claims.set(claim.callId, claim)
      change(claim, 1)
    },
    resume(claim) {
      opened.add(claim.callId)
      claims.set(claim.callId, claim)
      change(claim, 1)
    },
    forget(callId) {
      if (!opened.has(callId)) drop(callId)
    },
    open(opening, done) {
      const { id } = opening.call
      const claim = claims.get(id)
      if (!claim) return open(opening, done)
      opened.add(id)
      open({ ...opening, reserved: claim.usd }, (error) => {
        if (error) drop(id)
        done(error)
      })
    },
    write(what) {
      const claim = claims.get(what.id)
      return claim ? writeClaimed(what, claim) : write(what)
    },
  }

  async function writeClaimed(what: Parameters<Store['write']>[0], claim: Claim): Promise<void> {
    if (what.kind !== 'next' && what.kind !== 'close') return write(what)
    const charge = what.ended && what.cost.usd === null ? chargeOf(what.ended, claim) : 0
    await write({ ...what, charge })
    if (what.kind === 'close') drop(what.id) // released only now, so that it counts until here
  }
}

/**
 * Returns the charge for an attempt without a reported cost. An attempt that was not sent, or was refused by
 * an error status, costs nothing. An answer without usage costs the whole reservation. Otherwise only the
 * input is charged.
 */
function chargeOf(ended: EndedAttempt, claim: Claim): number {
  if (usedNothing(ended)) return 0
  return claim.costAt(ended.target, ended.outcome === 'answered' ? 'all' : 'input')
}

// Reservations for the open calls of keys with a budget. Observes every write to the record: adds the
// reserved amount to an opening, so that a killed gateway's calls are charged at the next start, and the
// charge to the end of an attempt without a reported cost. Knows no database.
import type { Claim } from '../core/budget.ts'
import { usedNothing } from '../core/call.ts'
import type { Store } from './store.ts'
import type { EndedAttempt } from './writes.ts'

export interface Reservations {
  /** Returns US dollars reserved for the open calls of a key. */
  reserved(keyName: string): number
  /** Call before the call is opened. */
  add(claim: Claim): void
  /** Ends the work for a call. If it was opened, its end releases the reservation. */
  forget(callId: string): void
  /** The store's own. */
  readonly open: Store['open']
  readonly write: Store['write']
}

export function createReservations({ open, write }: Pick<Store, 'open' | 'write'>): Reservations {
  const claims = new Map<string, Claim>()
  /** Calls whose opening is or was being written. */
  const opened = new Set<string>()
  const sums = new Map<string, number>()
  const change = ({ keyName }: Claim, usd: number) => {
    const sum = (sums.get(keyName) ?? 0) + usd
    // Without open calls nothing is reserved, whatever the floating-point sum.
    if (usd < 0 && ![...claims.values()].some((claim) => claim.keyName === keyName)) sums.delete(keyName)
    else sums.set(keyName, sum)
  }
  const drop = (callId: string) => {
    const claim = claims.get(callId)
    opened.delete(callId)
    if (claim && claims.delete(callId)) change(claim, -claim.usd)
  }

  return {
    reserved: (keyName) => sums.get(keyName) ?? 0,
    add(claim) {
      claims.set(claim.callId, claim)
      change(claim, claim.usd)
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
    if (what.kind === 'streaming') return write(what)
    const charge = what.ended && what.cost.usd === null ? chargeOf(what.ended, claim) : 0
    await write({ ...what, charge })
    if (what.kind === 'close') drop(what.id) // only now, or it would not count meanwhile
  }
}

/**
 * Returns the charge for an attempt without a reported cost: nothing if it was not sent or was refused by an
 * error status, the whole reservation if the provider answered without usage, else its input.
 */
function chargeOf(ended: EndedAttempt, claim: Claim): number {
  if (usedNothing(ended)) return 0
  return claim.costAt(ended.target, ended.outcome === 'answered' ? 'all' : 'input')
}

// What is set aside for the open calls of keys that have a budget. Sees every write to the record: it adds to
// an opening what is set aside, so that a killed gateway's calls are charged at the next start, and to an attempt's end what
// it is charged if nothing was counted. Knows no database.
import type { Claim } from '../budget.ts'
import type { Store } from './store.ts'
import type { EndedAttempt, Write } from './writes.ts'

export interface Reservations {
  /** US dollars that are set aside for the open calls of a key. */
  reserved(keyName: string): number
  /** Before the call is opened. */
  add(claim: Claim): void
  /** Nothing more is done for the call. Where it was opened, its end gives back what was set aside. */
  forget(callId: string): void
  /** The store's `write`. */
  readonly write: Store['write']
}

export function createReservations(write: Store['write']): Reservations {
  const claims = new Map<string, Claim>()
  /** Those whose opening was written, or is being. */
  const opened = new Set<string>()
  const sums = new Map<string, number>()
  const change = ({ keyName }: Claim, usd: number) => {
    const sum = (sums.get(keyName) ?? 0) + usd
    // Without the last open call nothing is set aside, whatever floating point makes of it.
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
    write(what) {
      const claim = claims.get(what.kind === 'open' ? what.call.id : what.id)
      return claim ? writeClaimed(what, claim) : write(what)
    },
  }

  async function writeClaimed(what: Write, claim: Claim): Promise<void> {
    if (what.kind === 'streaming') return write(what)
    if (what.kind === 'open') {
      opened.add(what.call.id)
      try {
        return await write({ ...what, reserved: claim.usd })
      } catch (error) {
        drop(what.call.id)
        throw error
      }
    }
    const charge = what.ended && what.cost.usd === null ? chargeOf(what.ended, claim) : 0
    await write({ ...what, charge })
    if (what.kind === 'close') drop(what.id) // not before its cost is on record, or it would count nowhere meanwhile
  }
}

/**
 * What an attempt without a reported cost counts: nothing if it was not sent or was refused by an error status, all
 * that was set aside where the provider answered without usage, else its input.
 */
function chargeOf({ outcome, status, target }: EndedAttempt, claim: Claim): number {
  if (outcome === 'not_sent' || (status !== null && status >= 300)) return 0
  return claim.costAt(target, outcome === 'answered' ? 'all' : 'input')
}

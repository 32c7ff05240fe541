// Reports the rest of the keys' budgets this month. Reads a database that a gateway may be writing to; only
// the gateway itself knows the reservations for its open calls (`/api/keys/me`, `/metrics`).
import type { DatabaseSync } from 'node:sqlite'
import type { Finding } from '../../core/findings.ts'
import type { Spent } from '../store.ts'
import { monthOf, SPENT } from './spending.ts'

/** A key that has a budget. */
export interface Budget {
  readonly keyName: string
  readonly usd: number
}

/** Share of a budget from which its end is reported. */
const BUDGET_WARNING_SHARE = 0.8

/** The database must have the newest schema. `now`: milliseconds since the epoch. */
export function budgetFindings(db: DatabaseSync, budgets: readonly Budget[], now: number): Finding[] {
  const find = db.prepare(SPENT)
  return budgets.map(({ keyName, usd }): Finding => {
    const spent = find.get(keyName, monthOf(now)) as unknown as Spent | undefined
    const part = (spent?.usd ?? 0) / usd
    const text = `the key "${keyName}" has spent ${dollars(spent?.usd ?? 0)} of its ${dollars(usd)} in ${monthOf(now)} (UTC)`
    const estimated = spent?.estimatedUsd ? `, ${dollars(spent.estimatedUsd)} of it estimated` : ''
    if (part >= 1)
      return {
        verdict: 'note',
        text: `${text}${estimated}; its calls are refused until the month ends; to allow them, raise its budget`,
      }
    if (part >= BUDGET_WARNING_SHARE)
      return { verdict: 'note', text: `${text}${estimated}; its calls are refused when the budget is spent` }
    return { verdict: 'ok', text: text + estimated }
  })
}

const dollars = (usd: number): string =>
  `$${Number.isInteger(usd) || usd >= 0.01 ? usd.toFixed(2) : usd.toPrecision(2)}`

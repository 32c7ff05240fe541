// Reports the remaining budgets of the keys in the current periods, except budgets per session. Reads a database that
// a gateway may be writing to. Only the gateway itself knows the reservations for its open calls (`/api/keys/me`,
// `/metrics`).
import type { DatabaseSync } from 'node:sqlite'
import type { Finding } from '../../core/findings.ts'
import { type Period, periodOf } from '../../core/period.ts'
import { dollars, spentText } from '../../terminal/numbers.ts'
import type { Spent } from '../store.ts'
import { SPENT } from './spending.ts'

/** A key that has a budget. */
export interface Budget {
  readonly keyName: string
  readonly usd: number
  readonly per: Period
}

/** Share of a budget from which a finding warns that the budget will run out. */
const BUDGET_WARNING_SHARE = 0.8

/** Returns the findings. The database must have the newest schema. `now`: milliseconds since the epoch. */
export function budgetFindings(db: DatabaseSync, budgets: readonly Budget[], now: number): Finding[] {
  const find = db.prepare(SPENT)
  return budgets.flatMap(({ keyName, usd, per }): Finding[] => {
    const period = periodOf(per, now, null)
    if (period === null) return []
    const spent = find.get(keyName, period) as unknown as Spent | undefined
    const part = (spent?.usd ?? 0) / usd
    const text = `the key "${keyName}" has spent ${spentText({ spent_usd: spent?.usd ?? 0, spent_is_minimum: !!spent?.unknownAttempts })} of its ${dollars(usd)} in ${period.replace(/^week/, 'the week of')} (UTC)`
    const estimated = spent?.estimatedUsd ? `, ${dollars(spent.estimatedUsd)} of it estimated` : ''
    if (part < BUDGET_WARNING_SHARE) return [{ verdict: 'ok', text: text + estimated }]
    const next =
      part >= 1
        ? `its calls are refused until the ${per} ends; to allow them, raise its budget`
        : 'its calls are refused when the budget is spent'
    return [{ verdict: 'note', text: `${text}${estimated}; ${next}` }]
  })
}

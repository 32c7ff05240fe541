// The money of the keys: spent and reserved, here and at the gateways that share the log.
import type { KeyConfig } from '../config/load.ts'
import type { BudgetUse } from '../endpoints/context.ts'
import type { Fleet } from '../fleet/fleet.ts'
import { resetOf } from '../http/limits.ts'
import type { KeyBudget } from '../observe/metrics.ts'
import type { Journal, Spent } from '../store/store.ts'

export interface AccountsDeps {
  readonly store: Pick<Journal, 'spending' | 'failure'>
  readonly fleet: Pick<Fleet, 'spentElsewhere'> | undefined
  /** Returns US dollars reserved for the open calls of a key. */
  readonly reserved: (keyName: string) => number
  /** Milliseconds since the epoch. */
  readonly now: () => number
}

export interface Accounts {
  /** Returns a key's spending in the month of a moment, at all gateways that share its budget. */
  readonly spentBy: (keyName: string, at: number) => Spent
  readonly budgetUse: (keyName: string | null) => BudgetUse
  /** Returns the metrics of a key's budget; empty without one, or while the record cannot be read. */
  readonly budgetOf: (key: KeyConfig) => KeyBudget[]
}

export function createAccounts({ store, fleet, reserved, now }: AccountsDeps): Accounts {
  function spentBy(keyName: string, at: number): Spent {
    const own = store.spending.spent(keyName, at)
    const others = fleet?.spentElsewhere(keyName)
    if (!others) return own
    return {
      usd: own.usd + others.usd,
      estimatedUsd: own.estimatedUsd + others.estimatedUsd,
      unknownAttempts: own.unknownAttempts + others.unknownAttempts,
    }
  }

  function budgetUse(keyName: string | null): BudgetUse {
    const resetsAt = resetOf(now())
    if (keyName === null)
      return { usd: null, estimatedUsd: null, unknownAttempts: null, reservedUsd: null, resetsAt }
    return { ...spentBy(keyName, now()), reservedUsd: reserved(keyName), resetsAt }
  }

  function budgetOf({ name, budget }: KeyConfig): KeyBudget[] {
    if (!budget || store.failure !== null) return []
    const { usd, reservedUsd } = budgetUse(name)
    return [{ key: name, budget: budget.usd, spent: usd!, reserved: reservedUsd! }]
  }

  return { spentBy, budgetUse, budgetOf }
}

// Spent and reserved money of each key, at this gateway and at all gateways that share the log.
import type { KeyConfig } from '../config/load.ts'
import { type Account, endOf, periodOf } from '../core/period.ts'
import type { BudgetUse } from '../endpoints/context.ts'
import type { KeyBudget } from '../observe/metrics.ts'
import type { Journal, Spent } from '../store/store.ts'

interface AccountsDeps {
  readonly store: Pick<Journal, 'spending' | 'failure'>
  /** Returns the spending of the other instances of a fleet. */
  readonly spentElsewhere: ((account: Account) => Spent) | undefined
  /** Returns US dollars reserved for open calls. */
  readonly reserved: (account: Account) => number
  /** Milliseconds since the epoch. */
  readonly now: () => number
}

interface Accounts {
  /** Returns the amount spent at all gateways that share the budget. */
  readonly spentBy: (account: Account) => Spent
  readonly budgetUse: BudgetUse
  /** Returns the metrics of a key's budgets; empty without a budget, or while the record is unreadable. */
  readonly budgetsOf: (key: KeyConfig) => KeyBudget[]
}

const UNKNOWN = { usd: null, estimatedUsd: null, unknownAttempts: null, reservedUsd: null }

export function createAccounts({ store, spentElsewhere, reserved, now }: AccountsDeps): Accounts {
  function spentBy(account: Account): Spent {
    const own = store.spending.spent(account)
    const others = spentElsewhere?.(account)
    if (!others) return own
    return {
      usd: own.usd + others.usd,
      estimatedUsd: own.estimatedUsd + others.estimatedUsd,
      unknownAttempts: own.unknownAttempts + others.unknownAttempts,
    }
  }

  const budgetUse: BudgetUse = (keyName, per, sessionId = null) => {
    const period = periodOf(per, now(), sessionId)
    const resetsAt = endOf(per, now())
    if (keyName === null || period === null) return { ...UNKNOWN, resetsAt }
    const account = { keyName, period }
    return { ...spentBy(account), reservedUsd: reserved(account), resetsAt }
  }

  function budgetsOf({ name, budget = [] }: KeyConfig): KeyBudget[] {
    if (store.failure !== null) return []
    return budget.map(({ usd, per }) => {
      const { usd: spent, reservedUsd } = budgetUse(name, per)
      return { key: name, per, budget: usd, spent, reserved: reservedUsd }
    })
  }

  return { spentBy, budgetUse, budgetsOf }
}

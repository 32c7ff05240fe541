// What a key may still do: so many calls in a window of time, so many dollars in a month. Asked before a call is
// read, so that a refused one costs nothing. Knows neither digests nor the store; what was spent is handed in.
import { RateLimiterMemory, type RateLimiterRes } from 'rate-limiter-flexible'
import type { KeyConfig } from '../config.ts'
import { GatewayError } from '../errors.ts'

export interface LimitsDeps {
  /** US dollars that a key has spent in the month of `at`. */
  readonly spent: (keyName: string, at: number) => number
  /** Milliseconds since the epoch. */
  readonly now: () => number
}

/** Lets one more call of a key pass, or throws `rate_limited` or `budget_exceeded`. */
export type KeyLimits = (keyName: string | null) => Promise<void>

/**
 * Returns what makes the limits of a configuration's keys. A window begins with its first call; those that are refused
 * do not make it longer, and a rate that stays the same in the next configuration keeps its window. A budget counts
 * what is known to have been spent when a call arrives: calls that are still open, and those whose price is unknown, do
 * not count.
 */
export function createLimits({ spent, now }: LimitsDeps): (keys: readonly KeyConfig[]) => KeyLimits {
  const limiters = new Map<string, RateLimiterMemory>()
  const limiterOf = (keyName: string, { requests, per }: NonNullable<KeyConfig['rate']>) => {
    const id = `${keyName} ${requests} ${per}`
    const limiter = limiters.get(id) ?? new RateLimiterMemory({ points: requests, duration: per / 1000 })
    limiters.set(id, limiter)
    return limiter
  }

  return (keys) => {
    const limited = new Map(
      keys.map(({ name, rate, budget }) => [name, { rate, limiter: rate && limiterOf(name, rate), budget }]),
    )
    return async (keyName) => {
      const limit = keyName === null ? undefined : limited.get(keyName)
      if (!limit) return
      const { rate, limiter, budget } = limit
      if (budget) withinBudget(keyName!, budget.usd)
      await limiter?.consume(keyName!).catch((refused: RateLimiterRes) => {
        const seconds = Math.ceil(refused.msBeforeNext / 1000)
        throw new GatewayError(
          'rate_limited',
          `The key "${keyName}" may make ${rate!.requests} calls in ${rate!.per / 1000} s; try again in ${seconds} s.`,
          { retryAfter: seconds },
        )
      })
    }
  }

  function withinBudget(keyName: string, usd: number): void {
    const at = now()
    const sum = spent(keyName, at)
    if (sum < usd) return
    const month = new Date(at)
    const reset = Date.UTC(month.getUTCFullYear(), month.getUTCMonth() + 1)
    throw new GatewayError(
      'budget_exceeded',
      `The key "${keyName}" has spent $${dollars(sum)} of its $${usd} for this month; the budget begins anew at ${new Date(reset).toISOString()}.`,
      { retryAfter: Math.ceil((reset - at) / 1000) },
    )
  }
}

/** Cents, and as many digits more as there are: the sums of a small budget are far below a cent. */
const dollars = (usd: number): string =>
  usd.toLocaleString('en-US', { minimumFractionDigits: 2, maximumFractionDigits: 9, useGrouping: false })

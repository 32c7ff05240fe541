// What a key may still do: calls in a window of time, dollars in a month. Asked before a call is read, so that a refused one
// costs nothing, and again when it is known what the call may cost. Knows neither digests nor the store; it is given what was
// spent and what is set aside.
import { createRequire } from 'node:module'
import type { RateLimiterMemory as Limiter, RateLimiterRes } from 'rate-limiter-flexible'
import { type Claim, type ClaimOptions, claimOf, isPriced } from '../budget.ts'
import { type Route, type Target, targetId } from '../call.ts'
import type { KeyConfig } from '../config.ts'
import { GatewayError } from '../errors.ts'
import type { Pricer } from '../pricing.ts'

/** By itself: all the stores that it could use instead take 7 MiB more. */
const RateLimiterMemory = createRequire(import.meta.url)(
  'rate-limiter-flexible/lib/RateLimiterMemory.js',
) as typeof Limiter

export interface LimitsDeps {
  /** US dollars that count for a key in the month of `at`. */
  readonly spent: (keyName: string, at: number) => number
  /** US dollars that are set aside for its open calls. */
  readonly reserved: (keyName: string) => number
  /** Sets something aside. */
  readonly reserve: (claim: Claim) => void
  /** Milliseconds since the epoch. */
  readonly now: () => number
  /** What several gateways count together; absent for one alone. */
  readonly shared?: SharedLimits | undefined
}

/** Limits that several gateways hold together, so that asking about them can take a moment. */
export interface SharedLimits {
  /** Null where one more call passes, else how long it has to wait, ms. */
  consume(rate: { keyName: string; requests: number; per: number }): Promise<number | null>
  /** What is set aside for a call that may cost `usd`; null if it is not known what it may cost. */
  claimed(usd: number | null, budget: number): number
  /** Lets a call in, calling `admit` in the same moment; else says why not. */
  cover(
    keyName: string,
    usd: number,
    budget: number,
    admit: () => void,
  ): Uncovered | null | Promise<Uncovered | null>
}
/** Nothing is left, or it is not known whether anything is. */
export type Uncovered = 'spent' | 'unreachable'

/** A call that is routed and about to be opened. */
export interface RoutedCall extends Pick<ClaimOptions, 'callId' | 'body'> {
  readonly keyName: string | null
  readonly route: Route
  /** Estimates its texts; only asked for a key with a budget, because it reads them all. */
  readonly traits: { readonly inputTokens: number }
}

export interface KeyLimits {
  /**
   * Lets one more call of a key pass, or throws `rate_limited` or `budget_exceeded`. Where the key has a rate, that is known
   * only when the promise is settled; null where there is nothing to wait for.
   */
  admit(keyName: string | null): Promise<void> | null
  /**
   * Sets aside what the call may cost, where its key has a budget. Returns its route without the targets that the key
   * may not call because it is not known what they cost. Throws `budget_exceeded` or `price_unknown`. A promise only where
   * other gateways have to be asked.
   */
  reserve(call: RoutedCall): Route | Promise<Route>
}

/**
 * Returns what makes the limits of a configuration's keys. A window begins with its first call; those that are refused
 * do not make it longer, and a rate that stays the same in the next configuration keeps its window. A call passes while
 * anything of the budget is left after what was spent and what is set aside for open calls.
 */
export function createLimits(deps: LimitsDeps): (keys: readonly KeyConfig[], price: Pricer) => KeyLimits {
  const { spent, reserved, reserve, now, shared } = deps
  const limiters = new Map<string, Limiter>()
  const limiterOf = (keyName: string, { requests, per }: NonNullable<KeyConfig['rate']>) => {
    const id = `${keyName} ${requests} ${per}`
    const limiter = limiters.get(id) ?? new RateLimiterMemory({ points: requests, duration: per / 1000 })
    limiters.set(id, limiter)
    return limiter
  }

  return (keys, price) => {
    const limited = new Map(
      keys.map(({ name, rate, budget }) => [name, { rate, limiter: rate && limiterOf(name, rate), budget }]),
    )
    return {
      admit(keyName) {
        const limit = keyName === null ? undefined : limited.get(keyName)
        if (!limit) return null
        const { rate, limiter, budget } = limit
        if (shared && (budget || rate)) return admitShared(shared, keyName!, limit)
        if (budget) withinBudget(keyName!, budget.usd)
        if (!limiter) return null
        const passed = () => {}
        return limiter.consume(keyName!).then(passed, (refused: RateLimiterRes) => {
          throw tooMany(keyName!, rate!, refused.msBeforeNext)
        })
      },
      reserve({ callId, keyName, route, traits, body }) {
        const budget = keyName === null ? undefined : limited.get(keyName)?.budget
        if (!budget) return route
        if (!shared) withinBudget(keyName!, budget.usd) // others may have passed while this one's body came
        const at = now()
        const allowed = budget.unpriced === 'allow' ? route : pricedOnly(keyName!, route, price, at)
        const targets = allowed.candidates
        const claim = claimOf({
          callId,
          keyName: keyName!,
          targets,
          textTokens: traits.inputTokens,
          body,
          price,
          at,
        })
        if (shared)
          return cover(
            shared,
            claim,
            budget.usd,
            allowed,
            targets.every((target) => isPriced(price, target, at)),
          )
        reserve(claim)
        return allowed
      },
    }
  }

  async function admitShared(
    shared: SharedLimits,
    keyName: string,
    { rate, budget }: Pick<KeyConfig, 'rate' | 'budget'>,
  ): Promise<void> {
    if (budget) refuse(await shared.cover(keyName, 0, budget.usd, () => {}), keyName, budget.usd)
    const wait = rate ? await shared.consume({ keyName, ...rate }) : null
    if (wait !== null) throw tooMany(keyName, rate!, wait)
  }

  /** The same where the budget is shared: the call waits while a part of it is asked for, if at all. */
  function cover(shared: SharedLimits, claim: Claim, budget: number, route: Route, priced: boolean) {
    const { keyName } = claim
    const usd = shared.claimed(priced ? claim.usd : null, budget)
    const covered = shared.cover(keyName, usd, budget, () => reserve({ ...claim, usd }))
    const after = (why: Uncovered | null): Route => {
      refuse(why, keyName, budget)
      return route
    }
    return covered instanceof Promise ? covered.then(after) : after(covered)
  }

  function refuse(why: Uncovered | null, keyName: string, usd: number): void {
    if (why === 'unreachable')
      throw new GatewayError(
        'budget_exceeded',
        `This gateway's part of the budget of the key "${keyName}" is used up, and the shared log cannot be asked for more; try again later.`,
        { retryAfter: 5 },
      )
    if (why === null) return
    withinBudget(keyName, usd)
    throw new GatewayError(
      'budget_exceeded',
      `What is left of the budget of $${usd} of the key "${keyName}" is set aside for open calls, here or at other gateways; try again in a moment.`,
      { retryAfter: 1 },
    )
  }

  function withinBudget(keyName: string, usd: number): void {
    const at = now()
    const sum = spent(keyName, at)
    const open = reserved(keyName)
    if (sum + open < usd) return
    const reset = resetOf(at)
    const gone = `The key "${keyName}" has spent ${dollars(sum)} of its $${usd} for this month`
    if (sum < usd)
      throw new GatewayError(
        'budget_exceeded',
        `${gone}, and ${dollars(open)} are set aside for its open calls; try again when one of them has ended.`,
        { retryAfter: 1 },
      )
    throw new GatewayError(
      'budget_exceeded',
      `${gone}; the budget resets at ${new Date(reset).toISOString()}.`,
      { retryAfter: Math.ceil((reset - at) / 1000) },
    )
  }
}

function tooMany(
  keyName: string,
  { requests, per }: NonNullable<KeyConfig['rate']>,
  ms: number,
): GatewayError {
  const seconds = Math.ceil(ms / 1000)
  return new GatewayError(
    'rate_limited',
    `The key "${keyName}" may make ${requests} calls in ${per / 1000} s; try again in ${seconds} s.`,
    { retryAfter: seconds },
  )
}

/** When the month of a moment is over, both in ms since the epoch. */
export function resetOf(at: number): number {
  const month = new Date(at)
  return Date.UTC(month.getUTCFullYear(), month.getUTCMonth() + 1)
}

function pricedOnly(keyName: string, route: Route, price: Pricer, at: number): Route {
  const unpriced = route.candidates.filter((target) => !isPriced(price, target, at))
  if (unpriced.length === 0) return route
  const [first, ...more] = route.candidates.filter((target) => !unpriced.includes(target))
  if (!first) {
    const id = targetId(unpriced[0] as Target)
    throw new GatewayError(
      'price_unknown',
      `The key "${keyName}" has a budget, but the price of ${id} is not known; the operator can set models.${id}.price, or budget.unpriced: allow for this key.`,
    )
  }
  const reason = 'its price is not known, and the key has a budget'
  const skipped = [
    ...route.decision.skipped,
    ...unpriced.map((target) => ({ target: targetId(target), reason })),
  ]
  return { ...route, candidates: [first, ...more], decision: { ...route.decision, skipped } }
}

/** Cents, and as many digits more as there are: the sums of a small budget are far below a cent. */
const dollars = (usd: number): string =>
  `$${usd.toLocaleString('en-US', { minimumFractionDigits: 2, maximumFractionDigits: 9, useGrouping: false })}`

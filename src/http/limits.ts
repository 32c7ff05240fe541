// Limits of a key: calls in a window of time, dollars in a period. The limits are checked before a call is
// read, so that a refused call costs nothing, and again when its possible cost is known. Independent of
// digests and the store; receives the spent and reserved amounts.
import { createRequire } from 'node:module'
import type { RateLimiterMemory as Limiter, RateLimiterRes } from 'rate-limiter-flexible'
import type { KeyConfig } from '../config/load.ts'
import { type Claim, type ClaimOptions, claimOf, priceLine, unpricedAt } from '../core/budget.ts'
import { type Route, type Target, targetId, withoutTargets } from '../core/call.ts'
import { GatewayError } from '../core/errors.ts'
import { type Account, endOf, type Period, periodOf } from '../core/period.ts'
import type { Pricer } from '../pricing/pricing.ts'
import { exactDollars } from '../terminal/numbers.ts'

/** Imported directly, because the package's other stores take 7 MiB more. */
const RateLimiterMemory = createRequire(import.meta.url)(
  'rate-limiter-flexible/lib/RateLimiterMemory.js',
) as typeof Limiter

interface LimitsDeps {
  /** Returns the US dollars that count as spent. */
  readonly spent: (account: Account) => number
  /** Returns US dollars reserved for open calls. */
  readonly reserved: (account: Account) => number
  /** Reserves an amount. */
  readonly reserve: (claim: Claim) => void
  /** Milliseconds since the epoch. */
  readonly now: () => number
  /** Limits that several gateways share; absent for a single gateway. */
  readonly shared?: SharedLimits | undefined
}

/** A budget of a key, for the period or the session of a call. */
interface CallBudget extends Account {
  readonly per: Period
  readonly usd: number
}

/** Limits that several gateways enforce together. A check may therefore be asynchronous. */
interface SharedLimits {
  /** Returns null if one more call is within the rate, otherwise the time to wait, ms. */
  consume(rate: { keyName: string; requests: number; per: number }): Promise<number | null>
  /** Returns the amount to reserve for a call of at most `usd` (null: unknown). */
  claimed(usd: number | null, budgets: readonly CallBudget[]): number
  /** Calls `admit` in the same tick if all budgets cover the call. */
  cover(
    budgets: readonly CallBudget[],
    usd: number,
    admit: () => void,
  ): Uncovered | null | Promise<Uncovered | null>
}
/** Reason why a budget does not cover a call: nothing is left, or the rest is unknown. */
interface Uncovered {
  readonly why: 'spent' | 'unreachable'
  readonly budget: Account
}

/** A call that is routed and about to be opened. */
interface RoutedCall extends Pick<ClaimOptions, 'callId' | 'body' | 'sessionId' | 'others'> {
  readonly keyName: string | null
  readonly route: Route
  /**
   * Traits of the call. The getter reads all texts to estimate their tokens, so it runs only for a key with a budget.
   */
  readonly traits: { readonly inputTokens: number }
}

/** What a call claims of the budgets of its key. */
interface Claimed {
  readonly claim: Claim
  readonly budgets: readonly CallBudget[]
  /** The route without targets of unknown price that the key may not call. */
  readonly allowed: Route
  /** True if the price of every remaining target is known. */
  readonly isPriced: boolean
}

export interface KeyLimits {
  /**
   * Admits one more call of a key, or throws `rate_limited` or `budget_exceeded`. Returns a promise of the result if the
   * key has a rate or, in a fleet, a budget; otherwise null.
   */
  admit(keyName: string | null): Promise<unknown> | null
  /** Returns true if the calls of a key reserve their possible cost. */
  hasBudget(keyName: string | null): boolean
  /**
   * Reserves the possible cost of a call if its key has a budget. Returns the call's route without targets of
   * unknown price if the key may not call them. Throws `budget_exceeded` or `price_unknown`. Returns a
   * promise only if other gateways must be consulted.
   */
  reserve(call: RoutedCall): Route | Promise<Route>
  /**
   * Does the same at once, and for all targets. Returns false, and reserves nothing, if that is not possible: if a target
   * must be left out, or if other gateways must be consulted.
   */
  reserveAtOnce(call: RoutedCall): boolean
}

/** Makes the limits of a configuration's keys. */
type LimitsOf = (keys: readonly KeyConfig[], price: Pricer, outputOf?: ClaimOptions['outputOf']) => KeyLimits

/**
 * Returns a factory for the limits of a configuration's keys. A window begins with its first call, and
 * refused calls do not extend it. A rate that is unchanged in the next configuration keeps its window. A call
 * is admitted while each budget has something left after the spent and reserved amounts.
 */
export function createLimits(deps: LimitsDeps): LimitsOf {
  const { reserve, now, shared } = deps
  const limiters = new Map<string, Limiter>()
  const limiterOf = (keyName: string, { requests, per }: NonNullable<KeyConfig['rate']>) => {
    const id = `${keyName} ${requests} ${per}`
    const limiter = limiters.get(id) ?? new RateLimiterMemory({ points: requests, duration: per / 1000 })
    limiters.set(id, limiter)
    return limiter
  }

  return (keys, price, outputOf) => {
    const limited = new Map(
      keys.map(({ name, rate, budget = [] }) => [
        name,
        { rate, limiter: rate && limiterOf(name, rate), budget },
      ]),
    )
    /** Returns what a call claims, with its targets; null if its key has no budget. Throws if a budget is spent. */
    const claimFor = ({ callId, keyName, sessionId, route, traits, body, others }: RoutedCall) => {
      const { budget = [] } = limited.get(keyName ?? '') ?? {}
      if (budget.length === 0) return null
      const [at, on] = [now(), { keyName: keyName!, sessionId }]
      const budgets = budgetsOf(budget, { ...on, at })
      if (!shared) for (const each of budgets) within(each, deps) // other calls may have been admitted meanwhile
      const unknownAt = (target: Target) => unpricedAt(price, target, at, others?.(target))
      const allowed = withoutUnpriced(budget, keyName!, route, unknownAt)
      const targets = allowed.candidates
      const claim = claimOf({
        ...{ callId, ...on, targets, textTokens: traits.inputTokens, body, price, outputOf, at, others },
      })
      return { claim, budgets, allowed, isPriced: !targets.some(unknownAt) }
    }
    return {
      hasBudget: (keyName) => (limited.get(keyName ?? '')?.budget.length ?? 0) > 0,
      admit(keyName) {
        const limit = keyName === null ? undefined : limited.get(keyName)
        if (!limit) return null
        const { rate, limiter, budget } = limit
        // The session is known only after the call has been read.
        const budgets = budgetsOf(budget, { keyName: keyName!, sessionId: null, at: now() })
        if (shared && (budgets.length > 0 || rate)) return admitShared(shared, keyName!, budgets, rate, deps)
        for (const each of budgets) within(each, deps)
        if (!limiter) return null
        return limiter.consume(keyName!).catch((refused: RateLimiterRes) => {
          throw tooMany(keyName!, rate!, refused.msBeforeNext)
        })
      },
      reserve(call) {
        const claimed = claimFor(call)
        if (claimed === null) return call.route
        if (shared) return cover(shared, claimed)
        reserve(claimed.claim)
        return claimed.allowed
      },
      reserveAtOnce(call) {
        const claimed = claimFor(call)
        if (claimed === null) return true
        if (shared || claimed.allowed !== call.route) return false
        reserve(claimed.claim)
        return true
      },
    }
  }

  /** Reserves at shared budgets. The call waits if part of a budget must be requested. */
  function cover(shared: SharedLimits, { claim, budgets, allowed, isPriced }: Claimed) {
    const usd = shared.claimed(isPriced ? claim.usd : null, budgets)
    const covered = shared.cover(budgets, usd, () => reserve({ ...claim, usd }))
    const after = (short: Uncovered | null): Route => {
      refuse(short, budgets, deps)
      return allowed
    }
    return covered instanceof Promise ? covered.then(after) : after(covered)
  }
}

/** Admits a call of a key with limits that several gateways share. */
async function admitShared(
  shared: SharedLimits,
  keyName: string,
  budgets: readonly CallBudget[],
  rate: KeyConfig['rate'],
  deps: LimitsDeps,
): Promise<void> {
  refuse(await shared.cover(budgets, 0, () => {}), budgets, deps)
  const wait = rate ? await shared.consume({ keyName, ...rate }) : null
  if (wait !== null) throw tooMany(keyName, rate!, wait)
}

/** Returns the budgets that apply to a call. */
function budgetsOf(
  budgets: NonNullable<KeyConfig['budget']>,
  { keyName, sessionId, at }: { keyName: string; sessionId: string | null; at: number },
): CallBudget[] {
  return budgets.flatMap(({ usd, per }) => {
    const period = periodOf(per, at, sessionId)
    return period === null ? [] : [{ keyName, per, period, usd }]
  })
}

/** Throws if the budgets do not cover a call. */
function refuse(short: Uncovered | null, budgets: readonly CallBudget[], deps: LimitsDeps): void {
  if (short === null) return
  const { keyName } = short.budget
  if (short.why === 'unreachable')
    throw new GatewayError(
      'budget_exceeded',
      `This gateway's part of the budget of the key "${keyName}" is used up, and the shared log cannot be asked for more; try again later.`,
      { retryAfter: 5 },
    )
  for (const each of budgets) within(each, deps)
  const usd = budgets.find(({ period }) => period === short.budget.period)?.usd
  throw new GatewayError(
    'budget_exceeded',
    `What is left of the budget of ${usd === undefined ? '' : `${exactDollars(usd)} `}of the key "${keyName}" is set aside for open calls, here or at other gateways; try again in a moment.`,
    { retryAfter: 1 },
  )
}

/** Throws if a budget is spent. */
function within(budget: CallBudget, { spent, reserved, now }: LimitsDeps): void {
  const { keyName, per, usd } = budget
  const sum = spent(budget)
  const open = reserved(budget)
  if (sum + open < usd) return
  const at = now()
  const gone = `The key "${keyName}" has spent ${exactDollars(sum)} of its ${exactDollars(usd)} for this ${per}`
  if (sum < usd)
    throw new GatewayError(
      'budget_exceeded',
      `${gone}, and ${exactDollars(open)} are set aside for its open calls; try again when one of them has ended.`,
      { retryAfter: 1 },
    )
  const reset = endOf(per, at)
  if (reset === null)
    throw new GatewayError('budget_exceeded', `${gone}; the budget of a session is not reset.`, {
      mayRetry: false,
    })
  throw new GatewayError(
    'budget_exceeded',
    `${gone}; the budget resets at ${new Date(reset).toISOString()}.`,
    { retryAfter: Math.ceil((reset - at) / 1000), mayRetry: false },
  )
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

/**
 * Returns the route without targets of unknown price, unless a budget allows them. `unknownAt`: returns the name of a
 * target's model without a price.
 */
function withoutUnpriced(
  budget: NonNullable<KeyConfig['budget']>,
  keyName: string,
  route: Route,
  unknownAt: (target: Target) => string | null,
): Route {
  if (!budget.some(({ unpriced }) => unpriced === 'refuse')) return route
  const reasonFor = (target: Target) => {
    const unknown = unknownAt(target)
    return unknown === null ? null : unpricedReason(target, unknown)
  }
  return withoutTargets(route, reasonFor, () => {
    const ids = route.candidates.map((target) => targetId({ ...target, model: unknownAt(target)! }))
    const lines = ids.map((id) => `\`${priceLine(id)}\``).join(' or ')
    return new GatewayError(
      'price_unknown',
      `The key "${keyName}" has a budget, but the price of ${ids.join(' and of ')} is not known. Under \`models\` of the configuration, the operator can write ${lines}, with the prices of a million tokens in US dollars; or \`unpriced: allow\` in \`budget\` of this key.`,
    )
  })
}

const unpricedReason = ({ model }: Target, unknown: string | null): string =>
  unknown === model
    ? 'its price is not known, and the key has a budget'
    : `the request names ${unknown}, whose price is not known, and the key has a budget`

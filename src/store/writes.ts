// The four things that are ever written about a call, as values. Knows no database.
import type { AttemptEnd, Call, CallOutcome, Route, Target } from '../call.ts'
import type { Cost } from '../pricing.ts'

/** An attempt's end, with whose it was. */
export interface EndedAttempt extends AttemptEnd {
  readonly n: number
  readonly target: Pick<Target, 'provider' | 'model'>
}

/**
 * - `open`: the call is routed, and its first attempt is about to leave unless the cache has the answer.
 * - `next`: an attempt failed and another is about to leave.
 * - `streaming`: the response headers went to the client.
 * - `close`: the call is over; `ended` is its last attempt, null where none was made.
 */
export type Write =
  | {
      readonly kind: 'open'
      readonly call: Call
      readonly route: Route
      /** US dollars that are set aside of its key's budget; absent where there is none. */
      readonly reserved?: number
    }
  | {
      readonly kind: 'next'
      readonly id: string
      readonly at: number
      readonly ended: EndedAttempt
      /** What the attempt that ended cost. */
      readonly cost: Cost
      /** What it counts in its key's budget where that is not known, US dollars; absent without a budget. */
      readonly charge?: number
      readonly target: Target
      readonly fallbacks: number
      /** Requests that have left so far. */
      readonly requestsSent: number
    }
  | { readonly kind: 'streaming'; readonly id: string; readonly ttftMs: number }
  | {
      readonly kind: 'close'
      readonly id: string
      readonly at: number
      readonly ended: EndedAttempt | null
      /** What that attempt cost; where the cache had the answer, what it would have cost. */
      readonly cost: Cost
      /** As in `next`. */
      readonly charge?: number
      /** Who served, or was tried last. */
      readonly target: Pick<Target, 'provider' | 'model' | 'tier'>
      readonly fallbacks: number
      readonly outcome: CallOutcome
      readonly requestsSent: number
    }

// The six events of a call that are written, as values. Independent of the database.
import type { AttemptEnd, Call, CallOutcome, Route, Target } from '../core/call.ts'
import type { KnownCost } from '../core/record.ts'
import type { Cost } from '../pricing/cost.ts'

/** Parts missing from the cost of an interrupted call, in the format of the record's column. */
export const INTERRUPTED_COST_MISSING = JSON.stringify(['attempt'])

/** End of an attempt, with its target. */
export interface EndedAttempt extends AttemptEnd {
  readonly n: number
  readonly target: Pick<Target, 'provider' | 'model'>
}

/** The opening of a call. */
export interface Opening {
  readonly kind: 'open'
  readonly call: Call
  readonly route: Route
  /** US dollars reserved in its key's budget; absent without a budget. */
  readonly reserved?: number
}

/**
 * - `open`: the call is routed, and its first attempt is about to be sent unless the cache has the answer.
 * - `next`: an attempt failed and another is about to be sent.
 * - `streaming`: the response headers were sent to the client.
 * - `named`: the provider's ids of the answer are known, but the client does not have its end yet.
 * - `background`: the call continues at its provider, and stays open over a restart. `run`: JSON of the
 *   request that fetches it.
 * - `close`: the call is over; `ended` is its last attempt, null if there was none.
 */
export type Write =
  | Opening
  | {
      readonly kind: 'next'
      readonly id: string
      readonly at: number
      readonly ended: EndedAttempt
      /** Cost of the attempt that ended. */
      readonly cost: Cost
      /** US dollars charged to the key's budget if the cost is unknown; absent without a budget. */
      readonly charge?: number
      readonly target: Target
      readonly fallbacks: number
      /** Requests sent so far. */
      readonly requestsSent: number
    }
  | {
      readonly kind: 'streaming'
      readonly id: string
      readonly ttftMs: number
      /** Names of all objects that the provider made for the call; absent if it made none. */
      readonly objects?: readonly string[]
      /** True if the call stays open after its answer, until its batch is fetched. */
      readonly staysOpen?: boolean
    }
  | {
      readonly kind: 'named'
      readonly id: string
      readonly responseId: string | null
      readonly containerId: string | null
      /** True if the client waits for this write; then the write goes with the next batch. */
      readonly isAwaited: boolean
    }
  | { readonly kind: 'background'; readonly id: string; readonly run: string }
  | {
      readonly kind: 'close'
      readonly id: string
      readonly at: number
      readonly ended: EndedAttempt | null
      /** Cost of the last attempt. For an answer from the cache, the cost that it would have had. */
      readonly cost: Cost
      /** Cost of the attempts before the last; absent if there were none. */
      readonly earlier?: KnownCost
      /** True if the call continued in the background. */
      readonly wasBackground?: true
      /** See `next`. */
      readonly charge?: number
      /** The target that served the call, or was tried last. */
      readonly target: Pick<Target, 'provider' | 'model' | 'tier'>
      readonly fallbacks: number
      readonly outcome: CallOutcome
      readonly requestsSent: number
      /** True for the late end of a batch whose reservation may be from before a restart. */
      readonly releases?: true
    }

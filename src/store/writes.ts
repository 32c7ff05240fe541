// The six events of a call that are written, as values. Independent of the database.
import type { AttemptEnd, Call, CallOutcome, Route, Target, Tokens } from '../core/call.ts'
import type { KnownCost } from '../core/record.ts'
import { type Cost, UNKNOWN_USAGE } from '../pricing/cost.ts'
import type { Mask } from '../shared/redact.ts'

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

/** Returns a write whose usage contains no secret, because a provider may put anything into its words and names. */
export function maskedUsage(write: Exclude<Write, Opening>, mask: () => Mask): Exclude<Write, Opening> {
  const masked = <End extends { readonly tokens: Tokens | null }>(end: End): End => {
    if (!end.tokens?.served) return end
    const before = JSON.stringify(end.tokens.served)
    const after = mask()(before)
    return after === before ? end : { ...end, tokens: { ...end.tokens, served: JSON.parse(after) } }
  }
  if (write.kind === 'next') return { ...write, ended: masked(write.ended) }
  if (write.kind !== 'close') return write
  const [ended, outcome] = [write.ended && masked(write.ended), masked(write.outcome)]
  return ended === write.ended && outcome === write.outcome ? write : { ...write, ended, outcome }
}

/** Makes the end of a call that was refused but may be on record. Nothing was sent for it. */
export const refusedEnd = ({ call, route }: Opening, at: number): Exclude<Write, Opening> => ({
  kind: 'close',
  id: call.id,
  at,
  requestsSent: 0,
  fallbacks: 0,
  target: route.candidates[0],
  ended: null,
  cost: UNKNOWN_USAGE,
  outcome: {
    state: 'failed',
    status: 503,
    errorCode: 'log_unavailable',
    responseModel: null,
    latencyMs: Math.max(0, at - call.createdAt),
    ttftMs: null,
    tokens: null,
  },
})

// Events of one call for routing. The sender of the call reports all events.
import { type Target, targetId } from '../core/call.ts'
import { type CachedTokens, cacheLost } from './conversations.ts'
import type { RoutingState } from './routing-state.ts'

/** Receiver of a call's events, in their order. Times are in ms of one monotonic clock. */
export interface AttemptTracker {
  /** An attempt is about to be sent. At most one attempt is open. */
  attempt(target: Target, at: number): void
  /** The open attempt has an answer: the first event of a stream, or a whole answer. */
  answered(at: number): void
  /**
   * The call has been served until `at`. `key`: name of the provider's key, if it has several. Returns the cached
   * tokens that the conversation lost by moving to this target; null if it did not move, or if unknown.
   */
  served(target: Target, key: string | null, tokens: CachedTokens | null, at: number): number | null
  /** The call has ended with all its attempts. May be called repeatedly. */
  over(): void
}

/** A call that a target has served. */
export interface ServedCall {
  readonly target: Target
  readonly tokens: CachedTokens
  /** Time for which the prompt stays cached, ms. */
  readonly lifeMs: number
  /** Time from the response start to the end of the answer, ms. */
  readonly restMs: number
}

/** Conversation of a call, see `conversations.ts`. */
export interface CallConversation {
  /** Key by which calls stay with a target; null if they do not stay. */
  readonly sticky: string | null
  /** Key of the calls' common prompt; null if unknown. */
  readonly prompt: string | null
  /** Returns the time for which calls stay with a target, ms. */
  readonly staysMs: (target: Target) => number
  /** Returns the time for which a target caches the prompt, ms. */
  readonly cachedMs: (target: Target) => number
}

const HOUR_MS = 3_600_000

/**
 * Counts `first` as open from now on, so that calls routed at the same time see each other. The target that serves
 * the call becomes the conversation's target, unless another call has set one in the meantime. Calls that begin
 * together therefore stay with the first target that served, and a fallback moves them to another target.
 * `answeredBy` receives the target. `learn` receives the served call.
 */
export function trackAttempts(
  routingState: RoutingState,
  first: Target,
  { sticky, prompt, staysMs, cachedMs }: CallConversation,
  answeredBy?: (target: Target) => void,
  learn?: (served: ServedCall) => void,
): AttemptTracker {
  const { conversations } = routingState
  const placeOf = (key: string | null) => (key === null ? undefined : conversations.get(key)?.place)
  const before = placeOf(sticky)
  const cachedBefore = prompt === null ? undefined : conversations.get(prompt)
  let open: Target | null = first
  let since: number | null = null
  let answeredAt: number | null = null
  routingState.began(first)

  const over = () => {
    if (!open) return
    routingState.ended(open)
    if (since !== null && answeredAt === null) routingState.unanswered(open)
    open = null
  }
  return {
    attempt(target, at) {
      over()
      routingState.began(target)
      open = target
      since = at
    },
    answered(at) {
      if (!open || since === null) return
      answeredAt = at
      routingState.answered(open, at - since)
      answeredBy?.(open)
      if (sticky === null) return
      const now = placeOf(sticky)
      if (now === undefined || now === before || now === targetId(open))
        conversations.set(sticky, targetId(open), staysMs(open))
    },
    served(target, key, tokens, at) {
      if (tokens === null || (prompt === null && !learn)) return null
      const isForAnHour = (tokens.cache_write_1h ?? 0) > 0
      const lifeMs = isForAnHour ? Math.max(cachedMs(target), HOUR_MS) : cachedMs(target)
      learn?.({ target, tokens, lifeMs, restMs: answeredAt === null ? 0 : at - answeredAt })
      if (prompt === null) return null
      const place = key === null ? targetId(target) : `${targetId(target)} ${key}`
      conversations.set(prompt, place, lifeMs, (tokens.cached_input ?? 0) + (tokens.cache_write ?? 0))
      if (isForAnHour && sticky !== null && staysMs(target) < HOUR_MS && placeOf(sticky) === targetId(target))
        conversations.set(sticky, targetId(target), HOUR_MS)
      return cacheLost(cachedBefore, place, tokens)
    },
    over,
  }
}

// Events of one call for routing. The sender of the call reports them; routing never asks.
import { type Target, targetId } from '../core/call.ts'
import { type CachedTokens, cacheLost } from './conversations.ts'
import type { RoutingState } from './routing-state.ts'

/** Called in the order of events; times in ms by one steady clock. */
export interface AttemptTracker {
  /** An attempt is about to be sent; at most one is open. */
  attempt(target: Target, at: number): void
  /** The open attempt has an answer: the first event of a stream, or a whole answer that is not streamed. */
  answered(at: number): void
  /**
   * The call has been served, with the provider's key of this name if it has several. Returns the cached
   * tokens that its conversation lost by moving there; null if it did not move, or that is not known.
   */
  served(target: Target, key: string | null, tokens: CachedTokens | null): number | null
  /** Nothing of the call is open any more. May be called repeatedly. */
  over(): void
}

/** What a call belongs to, see `conversations.ts`. */
export interface CallConversation {
  /** Key under which its calls stay with a target; null if they do not. */
  readonly sticky: string | null
  /** Key of the prompt that they have in common; null if it is not known. */
  readonly prompt: string | null
  /** Returns how long calls stay with a target, ms. */
  readonly staysMs: (target: Target) => number
  /** Returns how long a target has the prompt cached, ms. */
  readonly cachedMs: (target: Target) => number
}

const HOUR_MS = 3_600_000

/**
 * Counts `first` as open from now on, so that calls routed at the same time see each other. The target that
 * serves becomes the conversation's, unless another call of it has set one meanwhile: calls that begin together
 * stay with the first target that served, and a fallback moves them on. `answeredBy` receives the target.
 */
export function trackAttempts(
  routingState: RoutingState,
  first: Target,
  { sticky, prompt, staysMs, cachedMs }: CallConversation,
  answeredBy?: (target: Target) => void,
): AttemptTracker {
  const { conversations } = routingState
  const placeOf = (key: string | null) => (key === null ? undefined : conversations.get(key)?.place)
  const before = placeOf(sticky)
  const cachedBefore = prompt === null ? undefined : conversations.get(prompt)
  let open: Target | null = first
  let since: number | null = null
  let isAnswered = false
  routingState.began(first)

  const over = () => {
    if (!open) return
    routingState.ended(open)
    if (since !== null && !isAnswered) routingState.unanswered(open)
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
      isAnswered = true
      routingState.answered(open, at - since)
      answeredBy?.(open)
      if (sticky === null) return
      const now = placeOf(sticky)
      if (now === undefined || now === before || now === targetId(open))
        conversations.set(sticky, targetId(open), staysMs(open))
    },
    served(target, key, tokens) {
      if (prompt === null || tokens === null) return null
      const place = key === null ? targetId(target) : `${targetId(target)} ${key}`
      const isForAnHour = (tokens.cache_write_1h ?? 0) > 0
      const lifeMs = isForAnHour ? Math.max(cachedMs(target), HOUR_MS) : cachedMs(target)
      conversations.set(prompt, place, lifeMs, (tokens.cached_input ?? 0) + (tokens.cache_write ?? 0))
      if (isForAnHour && sticky !== null && staysMs(target) < HOUR_MS && placeOf(sticky) === targetId(target))
        conversations.set(sticky, targetId(target), HOUR_MS)
      return cacheLost(cachedBefore, place, tokens)
    },
    over,
  }
}

// Events of one call for routing. The sender of the call reports them; routing never asks.
import type { Target } from '../core/call.ts'
import type { RoutingState } from './routing-state.ts'

/** Called in the order of events; times in ms by one steady clock. */
export interface AttemptTracker {
  /** An attempt is about to be sent; at most one is open. */
  attempt(target: Target, at: number): void
  /** The open attempt has an answer: the first event of a stream, or a whole answer that is not streamed. */
  answered(at: number): void
  /** Nothing of the call is open any more. May be called repeatedly. */
  over(): void
}

/**
 * Counts `first` as open from now on, so that calls routed at the same time see each other. `stickyKey`: the
 * key under which the session stays with a target, null if it does not. The target that serves becomes the
 * session's, unless another call of the session has set one meanwhile: calls that begin together stay with
 * the first target that served, and a fallback moves them on. `served` receives the target.
 */
export function trackAttempts(
  routingState: RoutingState,
  first: Target,
  stickyKey: string | null,
  served?: (target: Target) => void,
): AttemptTracker {
  const before = stickyKey === null ? undefined : routingState.stickyTarget(stickyKey)
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
      served?.(open)
      if (stickyKey !== null && routingState.stickyTarget(stickyKey) === before)
        routingState.setStickyTarget(stickyKey, open)
    },
    over,
  }
}

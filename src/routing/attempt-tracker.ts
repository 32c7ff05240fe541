// What routing learns from one call on its way. Whoever sends the call tells it; routing never asks.
import type { Target } from '../call.ts'
import type { RoutingState } from './routing-state.ts'

/** Told in the order of events; times in ms by one steady clock. */
export interface AttemptTracker {
  /** An attempt is about to leave; one before it is over. */
  attempt(target: Target, at: number): void
  /** The attempt under way has an answer: the first event of a stream, or the whole of what is not streamed. */
  answered(at: number): void
  /** Nothing of the call is open any more. May be said again. */
  over(): void
}

/**
 * `first` counts as open from now on, so that calls that are picked at the same time see each other. `home` is the key
 * under which the session stays with a target, null where it does not: the target that serves becomes the session's,
 * unless another call of the session has found one meanwhile. So calls that begin together stay with the first that
 * was served, and a fallback moves them on. `served` hears who did.
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

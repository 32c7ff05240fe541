// Moves targets to the end of the route if their known window is too small for the request. Leaves out no target,
// because the size of a request is only an estimate. Windows set by the operator (`models.<id>.context`) exclude
// targets in an earlier step (ROUTE-12).
import { mostOutput } from '../core/budget.ts'
import { type Route, type Target, targetId } from '../core/call.ts'
import type { RequestTraits } from '../core/request-traits.ts'
import type { Provider } from '../providers/send.ts'

/** Factor by which the estimated input may be too low. */
const MARGIN = 1.1

/** Maximum tokens per character. */
const MAX_TOKENS_PER_CHARACTER = 2

/**
 * Returns the route with the targets known to be too small at the end. `text`: the body; `json`: the parsed
 * body.
 */
export function smallLast(
  route: Route,
  { text, json, traits }: { readonly text: string; readonly json: unknown; readonly traits: RequestTraits },
  providers: ReadonlyMap<string, Provider>,
): Route {
  const { candidates } = route
  if (candidates.length < 2) return route
  const windowOf = ({ provider, model }: Target) =>
    providers.get(provider)?.windowOf(model) ?? Number.POSITIVE_INFINITY
  const smallest = Math.min(...candidates.map(windowOf))
  if (smallest === Number.POSITIVE_INFINITY) return route
  const output = mostOutput(json as Record<string, unknown>, 0)
  // Most requests are so short that no estimate is needed.
  if (text.length * MAX_TOKENS_PER_CHARACTER + output <= smallest) return route
  const needed = traits.inputTokens * MARGIN + output
  const isSmall = (target: Target) => windowOf(target) < needed
  const small = candidates.filter(isSmall)
  const [first, ...rest] = [...candidates.filter((target) => !isSmall(target)), ...small]
  if (small.length === 0 || small.length === candidates.length) return route
  const reasons = small.map((target) => ({
    target: targetId(target),
    reason: `window of ${windowOf(target)} tokens may be too small; tried last`,
  }))
  const skipped = [...route.decision.skipped, ...reasons]
  return { ...route, candidates: [first!, ...rest], decision: { ...route.decision, skipped } }
}

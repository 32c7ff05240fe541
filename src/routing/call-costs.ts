// The expected cost of a call at each target of a route, from the tokens of similar calls, the targets' prices and
// what each target has cached of the conversation.
import { type CostEstimate, type Target, targetId } from '../core/call.ts'
import type { Pricer } from '../pricing/pricing.ts'
import { type CachedTokens, MIN_CACHED_TOKENS } from './conversations.ts'
import type { RoutingState, ServedCall } from './routing-state.ts'
import type { CallKind } from './usual-calls.ts'

/**
 * Part of the cached prompt below which a request has another prompt: the conversation was shortened, or begun anew.
 * Two estimates of one text may differ by less.
 */
const SAME_PROMPT = 0.9

interface CallToPrice {
  readonly kind: CallKind
  /** Estimated input tokens; null for those of the usual call. */
  readonly input: number | null
  /** Present time, ms since the epoch. */
  readonly at: number
}

/** Returns the expected costs of a call at the targets. Changes nothing. */
export function callCosts(
  state: RoutingState,
  price: Pricer,
  targets: readonly Target[],
  { kind, input, at }: CallToPrice,
): CostEstimate {
  const call = state.usual.expect(kind, input)
  const isCached = call.input >= MIN_CACHED_TOKENS
  return {
    input_tokens: call.input,
    output_tokens: call.output,
    later_calls: Math.round(call.later * 10) / 10,
    targets: targets.map((target) => {
      const { density, found, written, writtenForHour } = state.usual.treatmentAt(
        kind.group,
        targetId(target),
      )
      const tokens = Math.round(call.input * density)
      const usd = (cached_input: number, cache_write: number) => {
        const cache_write_1h = Math.floor(cache_write * writtenForHour)
        const input = { input: tokens, cached_input, cache_write, cache_write_1h }
        const cost = price(target, { ...input, output: call.output, reasoning: null }, at)
        return cost.flat ? 0 : cost.usd
      }
      const cached = Math.floor(cachedAt(state, kind, target, call.input) * density * found)
      return {
        target: targetId(target),
        usd: usd(cached, isCached ? Math.floor((tokens - cached) * written) : 0),
        cached_tokens: cached,
        later_usd: call.later > 0 ? usd(isCached ? Math.floor(tokens * found) : 0, 0) : null,
      }
    }),
  }
}

/**
 * Returns the costs by which the targets are compared: of this call, and of the later calls of its conversation at the
 * target that then has the prompt cached. Without the later calls, a conversation would never move to a target that is
 * dearer for one call and cheaper for all others.
 */
export function comparedCosts({ later_calls, targets }: CostEstimate): Map<string, number | null> {
  const sum = ({ usd, later_usd }: CostEstimate['targets'][number]) =>
    usd === null ? null : usd + later_calls * (later_usd ?? 0)
  return new Map(targets.map((each) => [each.target, sum(each)]))
}

/**
 * Returns a function that learns from the end of a call. `input`: its estimated input tokens; null if not estimated.
 */
export function learnFrom(state: RoutingState, kind: CallKind, input: number | null) {
  const { prompt } = kind
  const isLater = prompt !== null && state.conversations.get(prompt) !== undefined
  return ({ target, tokens, lifeMs, restMs }: ServedCall): void => {
    if (tokens.output) state.completed(target, restMs, tokens.output)
    const expected = input === null ? 0 : cachedAt(state, kind, target, input)
    state.usual.ended({ ...kind, target: targetId(target), estimate: input, expected, isLater, tokens })
    if (prompt === null || input === null || input < MIN_CACHED_TOKENS) return
    const cached = input * cachedShare(tokens)
    state.conversations.set(placeKey(prompt, target), targetId(target), lifeMs, Math.round(cached))
  }
}

/** Returns the share of the input that is cached after a call. Without reported writes: all of it. */
const cachedShare = ({ input, cached_input, cache_write }: CachedTokens): number =>
  input && cache_write ? Math.min(((cached_input ?? 0) + cache_write) / input, 1) : 1

/** Returns the estimated tokens of a call that a target has cached. */
function cachedAt(
  { conversations }: RoutingState,
  { prompt }: CallKind,
  target: Target,
  input: number,
): number {
  const cached = prompt === null ? 0 : (conversations.get(placeKey(prompt, target))?.cached ?? 0)
  return input < MIN_CACHED_TOKENS || input < cached * SAME_PROMPT ? 0 : Math.min(cached, input)
}

const placeKey = (prompt: string, target: Target): string => `${prompt} ${targetId(target)}`

// Facts about a route for the line, parsed from a record or a resolution.
import { amount, isObject, textOrNull } from './payload.ts'

/**
 * Target of the session's newest main call, or a forecast. The fields are part of the contract's "Record",
 * with labels as received.
 */
export interface Facts {
  /** `logged`: from a record. `forecast`: from `resolve`, before any call. */
  readonly kind: 'logged' | 'forecast'
  readonly id: string | null
  readonly created_at: string | null
  readonly requested_model: string
  readonly resolved_provider: string
  readonly resolved_model: string
  readonly picked_provider: string | null
  readonly strategy: string | null
  readonly state: string | null
  readonly error_code: string | null
  readonly fallbacks: number | null
  /** Timeouts in milliseconds. */
  readonly latency_ms: number | null
  readonly ttft_ms: number | null
  readonly tokens: {
    readonly input: number | null
    readonly output: number | null
    readonly source: string | null
  }
  /** Cost in US dollars, and true if part of it is unknown. */
  readonly cost_usd: number | null
  readonly cost_is_minimum: boolean
  /** Used share of a subscription, in the words of the record. */
  readonly plan_limits: string | null
  readonly cache: string | null
  /** US dollars saved by a cache hit. */
  readonly saved_usd: number | null
  /** Cost of the whole session, US dollars; null if unknown or not requested. */
  readonly session_cost_usd: number | null
  readonly session_cost_is_minimum: boolean
}

/** Returns true for an incomplete cost of a record or a sum. */
export const isIncomplete = ({
  cost_missing: missing,
  cost_is_minimum: isMinimum,
}: Readonly<Record<string, unknown>>): boolean =>
  isMinimum === true || (Array.isArray(missing) && missing.length > 0)

/** Parses a record; null for anything else. */
export function factsOf(record: unknown): Facts | null {
  if (!isObject(record)) return null
  const requested_model = textOrNull(record.requested_model)
  const resolved_provider = textOrNull(record.resolved_provider)
  const resolved_model = textOrNull(record.resolved_model)
  if (requested_model === null || resolved_provider === null || resolved_model === null) return null
  const tokens = isObject(record.tokens) ? record.tokens : {}
  return {
    kind: record.kind === 'forecast' ? 'forecast' : 'logged',
    id: textOrNull(record.id),
    created_at: textOrNull(record.created_at),
    requested_model,
    resolved_provider,
    resolved_model,
    picked_provider: textOrNull(record.picked_provider),
    strategy: textOrNull(record.strategy),
    state: textOrNull(record.state),
    error_code: textOrNull(record.error_code),
    fallbacks: amount(record.fallbacks),
    latency_ms: amount(record.latency_ms),
    ttft_ms: amount(record.ttft_ms),
    tokens: { input: amount(tokens.input), output: amount(tokens.output), source: textOrNull(tokens.source) },
    cost_usd: amount(record.cost_usd),
    cost_is_minimum: isIncomplete(record),
    plan_limits: textOrNull(record.plan_limits),
    cache: textOrNull(record.cache),
    saved_usd: amount(record.saved_usd),
    session_cost_usd: amount(record.session_cost_usd),
    session_cost_is_minimum: record.session_cost_is_minimum === true,
  }
}

/** Parses an answer of `/api/cloud/model/resolve`; null for anything else. */
export function factsOfResolution(resolution: unknown): Facts | null {
  if (!isObject(resolution)) return null
  const { model, provider, resolved_model, strategy } = resolution
  return factsOf({
    kind: 'forecast',
    requested_model: model,
    resolved_provider: provider,
    resolved_model,
    strategy,
  })
}

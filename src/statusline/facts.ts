// What the line says about a route, read from what the gateway answers. Trusts nothing: another program may be
// listening at that address, and a kept file may have been edited.

/** Where the session's newest main call went, or would go: a part of contract "Record", labels as they came. */
export interface Facts {
  /** `logged`: a record says so. `forecast`: nothing was called yet; this is what `resolve` foretells. */
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
  /** Milliseconds. */
  readonly latency_ms: number | null
  readonly ttft_ms: number | null
  readonly tokens: {
    readonly input: number | null
    readonly output: number | null
    readonly source: string | null
  }
  /** US dollars. */
  readonly cost_usd: number | null
  readonly cache: string | null
  /** US dollars that a cache hit did not cost. */
  readonly saved_usd: number | null
  /** US dollars of the whole session; null where it was not asked for, too. */
  readonly session_cost_usd: number | null
}

type Json = Readonly<Record<string, unknown>>

export const isObject = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** A non-empty string, else null. */
export const text = (value: unknown): string | null => (typeof value === 'string' && value ? value : null)

/** A finite number of at least 0, else null. */
export const amount = (value: unknown): number | null =>
  typeof value === 'number' && Number.isFinite(value) && value >= 0 ? value : null

/** Reads a record of `/api/usage/request-logs`, or facts that were kept; null when it is neither. */
export function factsOf(record: unknown): Facts | null {
  if (!isObject(record)) return null
  const requested_model = text(record.requested_model)
  const resolved_provider = text(record.resolved_provider)
  const resolved_model = text(record.resolved_model)
  if (requested_model === null || resolved_provider === null || resolved_model === null) return null
  const tokens = isObject(record.tokens) ? record.tokens : {}
  return {
    kind: record.kind === 'forecast' ? 'forecast' : 'logged',
    id: text(record.id),
    created_at: text(record.created_at),
    requested_model,
    resolved_provider,
    resolved_model,
    picked_provider: text(record.picked_provider),
    strategy: text(record.strategy),
    state: text(record.state),
    error_code: text(record.error_code),
    fallbacks: amount(record.fallbacks),
    latency_ms: amount(record.latency_ms),
    ttft_ms: amount(record.ttft_ms),
    tokens: { input: amount(tokens.input), output: amount(tokens.output), source: text(tokens.source) },
    cost_usd: amount(record.cost_usd),
    cache: text(record.cache),
    saved_usd: amount(record.saved_usd),
    session_cost_usd: amount(record.session_cost_usd),
  }
}

/** Reads an answer of `/api/cloud/model/resolve`; null when it is none. */
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

// Finds the record that represents the session (LINE-03), and reads the facts of its route for the line. Does not know
// the source of records.
import { isOtherModel } from '../shared/model-names.ts'
import { amount, isObject, type Payload, textOrNull } from './client-input.ts'
import type { SegmentName } from './flags.ts'

/** Reads that the lookup needs. Each read may throw, and then nothing is known. */
export interface RouteSource {
  /**
   * Returns the newest record of the main conversation, with exactly this model or with any; null if there is
   * none.
   */
  newest(sessionId: string, model: string | null): unknown
  /** Returns the current route of a call; null for an unknown model. See the contract's section "Resolve". */
  resolve(model: string): unknown
  /**
   * Returns the sums over a session's calls; null if there are none. See the contract's section "Session".
   */
  session(sessionId: string): unknown
}

type Subject = Pick<Payload, 'sessionId' | 'model' | 'modelAsGiven'>

/** Returns the route and, if requested, the cost of the session. Both are requested in parallel. */
export async function findFacts(
  subject: Subject,
  source: RouteSource,
  segments: readonly SegmentName[],
): Promise<Facts | null> {
  const wanted = segments.includes('session') ? subject.sessionId : null
  const [facts, cost] = await Promise.all([
    findRoute(subject, source),
    wanted === null ? UNKNOWN : costOf(wanted, source),
  ])
  return facts && { ...facts, ...cost }
}

type SessionCost = Pick<Facts, 'session_cost_usd' | 'session_cost_is_minimum' | 'session_cost_is_estimated'>

const UNKNOWN: SessionCost = {
  session_cost_usd: null,
  session_cost_is_minimum: false,
  session_cost_is_estimated: false,
}

/** Returns the known cost of a session. A failure here does not hide the route. */
async function costOf(sessionId: string, source: RouteSource): Promise<SessionCost> {
  try {
    const session = await source.session(sessionId)
    if (!isObject(session)) return UNKNOWN
    return {
      session_cost_usd: amount(session.cost_usd),
      session_cost_is_minimum: session.cost_is_minimum === true,
      session_cost_is_estimated: session.cost_is_estimated === true,
    }
  } catch {
    return UNKNOWN
  }
}

/**
 * Returns the session's newest main call, otherwise the forecast, otherwise null. Throws the source's errors.
 */
async function findRoute(
  { sessionId, model, modelAsGiven }: Subject,
  source: RouteSource,
): Promise<Facts | null> {
  if (sessionId !== null) {
    // The request may contain the client's suffix. A different model was chosen later.
    const ids = model === modelAsGiven ? [model] : [model, modelAsGiven]
    const records = await Promise.all(ids.map((id) => source.newest(sessionId, id)))
    const found = records.filter((record) => record !== null).map((record) => known(factsOf(record)))
    const [newest] = found.sort((a, b) => ((a.id ?? '') > (b.id ?? '') ? -1 : 1))
    if (newest) return newest
  }
  if (model === null) return null
  const resolution = await source.resolve(model)
  return resolution === null ? null : known(factsOfResolution(resolution))
}

function known(facts: Facts | null): Facts {
  if (facts) return facts
  throw new Error('the answer is not from a Waybill gateway')
}

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
  /** The model that answered, if it is another one. */
  readonly answered: string | null
  readonly picked_provider: string | null
  readonly strategy: string | null
  readonly state: string | null
  readonly error_code: string | null
  readonly fallbacks: number | null
  /** A target that was left out because it had failed a moment before. */
  readonly cooling: string | null
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
  readonly reported_usd: number | null
  /** Used share of a subscription, in the words of the record. */
  readonly plan_limits: string | null
  readonly cache: string | null
  /** US dollars saved by a cache hit. */
  readonly saved_usd: number | null
  /** Cost of the whole session, US dollars; null if unknown or not requested. */
  readonly session_cost_usd: number | null
  readonly session_cost_is_minimum: boolean
  readonly session_cost_is_estimated: boolean
}

const coolingIn = (decision: unknown): string | null => {
  const skipped = isObject(decision) && Array.isArray(decision.skipped) ? decision.skipped : []
  const found = skipped.find((each) => isObject(each) && each.reason === 'cooling')
  return found ? textOrNull(found.target) : null
}

/** Parses a record; null for anything else. */
export function factsOf(record: unknown): Facts | null {
  if (!isObject(record)) return null
  const requested_model = textOrNull(record.requested_model)
  const resolved_provider = textOrNull(record.resolved_provider)
  const resolved_model = textOrNull(record.resolved_model)
  if (requested_model === null || resolved_provider === null || resolved_model === null) return null
  const answered = textOrNull(record.response_model)
  const tokens = isObject(record.tokens) ? record.tokens : {}
  return {
    kind: record.kind === 'forecast' ? 'forecast' : 'logged',
    id: textOrNull(record.id),
    created_at: textOrNull(record.created_at),
    requested_model,
    resolved_provider,
    resolved_model,
    answered: isOtherModel(resolved_model, answered) ? answered : null,
    picked_provider: textOrNull(record.picked_provider),
    strategy: textOrNull(record.strategy),
    state: textOrNull(record.state),
    error_code: textOrNull(record.error_code),
    fallbacks: amount(record.fallbacks),
    cooling: coolingIn(record.decision),
    latency_ms: amount(record.latency_ms),
    ttft_ms: amount(record.ttft_ms),
    tokens: { input: amount(tokens.input), output: amount(tokens.output), source: textOrNull(tokens.source) },
    cost_usd: amount(record.cost_usd),
    cost_is_minimum:
      record.cost_is_minimum === true ||
      (Array.isArray(record.cost_missing) && record.cost_missing.length > 0),
    reported_usd: amount(record.reported_usd),
    plan_limits: textOrNull(record.plan_limits),
    cache: textOrNull(record.cache),
    saved_usd: amount(record.saved_usd),
    session_cost_usd: amount(record.session_cost_usd),
    session_cost_is_minimum: record.session_cost_is_minimum === true,
    session_cost_is_estimated: record.session_cost_is_estimated === true,
  }
}

/** Parses an answer of `/api/cloud/model/resolve`; null for anything else. */
function factsOfResolution(resolution: unknown): Facts | null {
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

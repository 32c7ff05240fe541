// Finds the record that represents the session (LINE-03). Does not know the source of records.
import { type Facts, factsOf, factsOfResolution, isIncomplete } from './facts.ts'
import { amount, isObject, type Payload } from './payload.ts'
import type { SegmentName } from './segment-names.ts'

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

type SessionCost = Pick<Facts, 'session_cost_usd' | 'session_cost_is_minimum'>

const UNKNOWN: SessionCost = { session_cost_usd: null, session_cost_is_minimum: false }

/** Returns the known cost of a session. A failure here does not hide the route. */
async function costOf(sessionId: string, source: RouteSource): Promise<SessionCost> {
  try {
    const session = await source.session(sessionId)
    if (!isObject(session)) return UNKNOWN
    return {
      session_cost_usd: amount(session.cost_usd),
      session_cost_is_minimum: isIncomplete(session),
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

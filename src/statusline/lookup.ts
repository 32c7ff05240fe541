// Which record speaks for the session (LINE-03). Does not know where records come from: the program asks a gateway
// over HTTP, the gateway's own endpoint asks its store.
import { amount, type Facts, factsOf, factsOfResolution, isObject } from './facts.ts'
import type { Payload } from './payload.ts'
import type { SegmentName } from './segments.ts'

/** All may throw; then nothing is known. */
export interface Source {
  /** The newest record of a session's main conversation that asked for exactly this model, or any; null when there is none. */
  newest(sessionId: string, model: string | null): unknown
  /** Where a call would go now, contract "Resolve"; null for an unknown model. */
  resolve(model: string): unknown
  /** What all calls of a session add up to, contract "Session"; null when there is none. */
  session(sessionId: string): unknown
}

type Subject = Pick<Payload, 'sessionId' | 'model' | 'modelAsGiven'>

/** What the line says: the route, and where it is wanted the cost of the session, asked for at the same time. */
export async function findFacts(
  subject: Subject,
  source: Source,
  segments: readonly SegmentName[],
): Promise<Facts | null> {
  const wanted = segments.includes('session') ? subject.sessionId : null
  const [facts, session_cost_usd] = await Promise.all([
    findRoute(subject, source),
    wanted === null ? null : costOf(wanted, source),
  ])
  return facts && { ...facts, session_cost_usd }
}

/** US dollars; null when it is not known. A gateway that cannot say is no reason to do without the route. */
async function costOf(sessionId: string, source: Source): Promise<number | null> {
  try {
    const session = await source.session(sessionId)
    return isObject(session) ? amount(session.cost_usd) : null
  } catch {
    return null
  }
}

/** The newest call of the session's main conversation, else the forecast, else null. Throws what the source throws. */
async function findRoute({ sessionId, model, modelAsGiven }: Subject, source: Source): Promise<Facts | null> {
  if (sessionId !== null) {
    // The request may have carried the client's suffix or not. Another model than the client's was chosen since.
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

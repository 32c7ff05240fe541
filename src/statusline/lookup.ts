// Which record speaks for the session (LINE-03). Does not know where records come from: the program asks a gateway
// over HTTP, the gateway's own endpoint asks its store.
import { type Facts, factsOf, factsOfResolution } from './facts.ts'
import type { Payload } from './payload.ts'

/** Both may throw; then nothing is known. */
export interface Source {
  /** The newest record of a session that has no agent id and asked for exactly this model, or any; null when there is none. */
  newest(sessionId: string, model: string | null): unknown
  /** Where a call would go now, contract "Resolve"; null for an unknown model. */
  resolve(model: string): unknown
}

/** The newest call of the session's main conversation, else the forecast, else null. Throws what the source throws. */
export async function findRoute(
  { sessionId, model, modelAsGiven }: Pick<Payload, 'sessionId' | 'model' | 'modelAsGiven'>,
  source: Source,
): Promise<Facts | null> {
  if (sessionId !== null) {
    // The request may have carried the client's suffix or not; subagents and background calls ask for other models.
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
  throw new Error('the answer is not one of a Waybill gateway')
}

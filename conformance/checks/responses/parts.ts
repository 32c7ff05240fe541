// Parts that the checks of the Responses dialect share: a provider's response, its sealed reasoning, and
// continued answers. Pure.
import type { LedgerEntry } from '../../../mocks/ledger.ts'
import { holdsWords, requestsOf, servedBy } from '../../dialects/lookup.ts'
import { isCrossed } from '../../dialects/registry.ts'
import type { Evidence, Exchange } from '../../evidence/evidence.ts'
import { at, jsonOf, readEvents } from '../../evidence/reading.ts'

export const SEALED = {
  ...{ id: 'rs_1', type: 'reasoning', summary: [] },
  encrypted_content: 'c2VhbGVkIHRob3VnaHRz/+==',
}

const SAID = {
  ...{ id: 'msg_1', type: 'message', role: 'assistant', status: 'completed' },
  content: [{ type: 'output_text', text: 'said', annotations: [] }],
}

/** Returns a provider's complete answer. */
export const response = (output: readonly object[] = []) => ({
  ...{ id: 'resp_1', object: 'response', created_at: 1, status: 'completed', model: 'synthetic' },
  ...{ error: null, incomplete_details: null, output: [...output, SAID] },
  usage: { input_tokens: 5, output_tokens: 5, total_tokens: 10 },
})

/** Returns the id of an answer, whole or streamed; null if it has none. */
export function responseIdIn({ body }: Pick<Exchange, 'body'>): string | null {
  const events = readEvents(body).map(({ data }) => at(jsonOf(data), '/response/id'))
  const id = at(jsonOf(body), '/id') ?? events.findLast((each) => each !== undefined)
  return typeof id === 'string' ? id : null
}

/** Returns the requests of a call that the provider answered. */
export const answeredOf = (evidence: Evidence, exchange: Exchange): LedgerEntry[] =>
  requestsOf(evidence, exchange).filter(({ answer }) => answer.status === 200)

/**
 * Returns true if a turn continued an answer: the provider received the id of its own answer or the earlier
 * conversation. A gateway may refuse to continue a translated answer.
 */
export function goesOn(evidence: Evidence, before: Exchange, exchange: Exchange): boolean {
  const [made, entry] = [servedBy(evidence, before), servedBy(evidence, exchange)]
  if (made === null || entry === null) return made !== null && isCrossed(before, made)
  const isOwn = !isCrossed(before, made) && made.provider === entry.provider
  const given = responseIdIn({ body: made.answer.body ?? '' })
  return (
    (isOwn && given !== null && at(entry.body, '/previous_response_id') === given) ||
    holdsWords(entry, before)
  )
}

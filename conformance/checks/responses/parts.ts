// Parts of answers in Responses, Messages and Gemini that several families of checks read. Pure.
import type { LedgerEntry } from '../../../mocks/ledger.ts'
import { dialectOf, holdsWords, isCrossed, refs, requestsOf, servedBy } from '../../dialects/lookup.ts'
import { difference, type Evidence, type Exchange, endText, step, stepText } from '../../evidence/evidence.ts'
import { type AnyJson, at, jsonOf, readEvents } from '../../evidence/reading.ts'
import { type Finding, finding } from '../check.ts'

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

/** Returns a provider's complete answer. */
export const message = (more: object = {}) => ({
  ...{ id: 'msg_synthetic', type: 'message', role: 'assistant', model: 'claude-synthetic' },
  content: [{ type: 'text', text: 'said' }],
  ...{ stop_reason: 'end_turn', stop_sequence: null, usage: { input_tokens: 5, output_tokens: 5 } },
  ...more,
})

/** Streams of every kind, from each model. */
export const messageStreams = step<{ model: string; scenario: string }>('stream')
/** Calls of every kind from each model, not streamed. */
export const whole = step<{ model: string; scenario: string }>('whole answer')

/** Events that the dialect orders; pings and unknown events may occur anywhere. */
const ORDERED = /^(message_(start|delta|stop)|content_block_(start|delta|stop))$/

export const messageEvents = ({ body }: Pick<Exchange, 'body'>): AnyJson[] =>
  readEvents(body)
    .map(({ data }) => jsonOf(data) as AnyJson)
    .filter((event) => ORDERED.test(event?.type ?? ''))

/** Returns the blocks of a whole answer, or of a stream with their deltas joined. */
export function blocksIn(body: string): AnyJson[] {
  const whole = jsonOf(body) as AnyJson | undefined
  if (whole !== undefined) return Array.isArray(whole?.content) ? whole.content : []
  const blocks: AnyJson[] = []
  for (const { type, index, content_block, delta } of messageEvents({ body })) {
    if (type === 'content_block_start') blocks[index] = { ...content_block }
    const block = blocks[index]
    if (type !== 'content_block_delta' || !block) continue
    for (const [name, text] of Object.entries(delta ?? {}))
      if (name !== 'type') block[name] = (block[name] ?? '') + text
  }
  return blocks.filter((block) => block !== undefined)
}

export const GEMINI_USAGE = { promptTokenCount: 9, candidatesTokenCount: 4, totalTokenCount: 13 }

/** Returns an answer or a stream event with these parts. */
export const geminiAnswer = (parts: readonly object[], finishReason?: string) => ({
  candidates: [{ content: { parts, role: 'model' }, ...(finishReason && { finishReason }), index: 0 }],
  usageMetadata: GEMINI_USAGE,
  modelVersion: 'gemini-synthetic',
  responseId: 'synthetic',
})

/** Compares the bytes of an answer with the provider's; returns nothing for translated answers. */
export function sameBytes(id: string, evidence: Evidence, exchange: Exchange): Finding[] {
  const entry = servedBy(evidence, exchange)
  if (entry && isCrossed(exchange, entry)) return []
  const sent = entry?.answer.body ?? ''
  return [
    finding(
      id,
      sent !== '' && exchange.body === sent,
      `the answer to "${stepText(exchange)}"`,
      {
        expected: `the ${sent.length} characters that the provider sent`,
        actual:
          sent === ''
            ? `${endText(exchange)}, and the provider sent nothing`
            : `${exchange.body.length} characters, ${difference(exchange.body, sent)}`,
      },
      refs(exchange, entry),
    ),
  ]
}

/** Requires a refusal in Google's format. */
export const refusedInShape = (id: string, evidence: Evidence, exchange: Exchange): Finding => {
  const { status, body } = exchange
  const isShaped = dialectOf(exchange).isError(body)
  return finding(
    id,
    status !== null && status >= 400 && status < 500 && isShaped,
    `the answer to "${stepText(exchange)}"`,
    {
      expected: `a 4xx with ${dialectOf(exchange).errorShape}`,
      actual: `${endText(exchange)}${isShaped ? '' : `, ${body.slice(0, 120) || 'no body'}`}`,
    },
    refs(exchange, servedBy(evidence, exchange)),
  )
}

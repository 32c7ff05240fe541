// GEM-06: Every `finishReason`, and every blocked prompt, arrives as the end of an answer. (Waybill: only answers
// that ended in STOP or MAX_TOKENS may be served from the cache.)
import { refs, servedBy } from '../dialects/lookup.ts'
import { isCrossed } from '../dialects/registry.ts'
import { at, jsonOf, readEvents } from '../evidence/reading.ts'
import { step, stepText } from '../evidence/step.ts'
import { endText } from '../evidence/wording.ts'
import { type Check, finding } from '../runner/check.ts'
import { GEMINI_USAGE, geminiAnswer, geminiEvent } from './gemini.ts'

const call = step<{ reason: string; stream: boolean }>('call')

const FINISHED = [
  ...['STOP', 'MAX_TOKENS', 'SAFETY', 'RECITATION', 'LANGUAGE', 'OTHER', 'BLOCKLIST', 'PROHIBITED_CONTENT'],
  ...['SPII', 'MALFORMED_FUNCTION_CALL', 'UNEXPECTED_TOOL_CALL', 'A_REASON_OF_TOMORROW'],
]
const BLOCKED = ['SAFETY', 'OTHER', 'BLOCKLIST', 'PROHIBITED_CONTENT']
const PROMPT = 'prompt: '

/** Returns a provider's answer, without a candidate if the prompt was blocked. */
const endedBy = (reason: string) =>
  reason.startsWith(PROMPT)
    ? { promptFeedback: { blockReason: reason.slice(PROMPT.length) }, usageMetadata: GEMINI_USAGE }
    : geminiAnswer([{ text: 'From here' }], reason)

/** Returns the reason why an answer ended, in the format that `endedBy` accepts. */
function endIn(body: string): string | null {
  const whole = jsonOf(body)
  const parts = whole === undefined ? readEvents(body).map(({ data }) => jsonOf(data)) : [whole]
  const ends = parts.flatMap((part) => {
    const blocked = at(part, '/promptFeedback/blockReason')
    return blocked === undefined ? (at(part, '/candidates/0/finishReason') ?? []) : `${PROMPT}${blocked}`
  })
  return ends.length === 0 ? null : String(ends.at(-1))
}

export const finishReasonsArrive = {
  id: 'GEM-06',
  needs: ['gemini'],
  dialect: 'gemini',
  relays: true,
  async exercise(session) {
    for (const reason of [...FINISHED, ...BLOCKED.map((each) => PROMPT + each)])
      for (const stream of [false, true])
        await session.chat(call.with({ reason, stream }), {
          stream,
          script: [
            stream ? { events: [geminiEvent(endedBy(reason))] } : { status: 200, body: endedBy(reason) },
          ],
        })
  },
  judge: ({ evidence }) =>
    call.in(evidence).flatMap((exchange) => {
      const entry = servedBy(evidence, exchange)
      if (entry && isCrossed(exchange, entry)) return []
      const { reason } = exchange.details
      const seen = exchange.status === 200 ? endIn(exchange.body) : endText(exchange)
      return [
        finding(
          reason.startsWith(PROMPT) ? 'blocked-prompt-arrives' : 'finish-reason-arrives',
          seen === reason,
          `the end of "${stepText(exchange)}"`,
          { expected: reason, actual: seen ?? 'none' },
          refs(exchange, entry),
        ),
      ]
    }),
} satisfies Check

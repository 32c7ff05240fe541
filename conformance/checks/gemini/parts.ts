// Parts that the GEM checks share: the provider's answers, and the format of Google's errors.
import { refs, servedBy } from '../../dialects/lookup.ts'
import { dialectOf, isCrossed } from '../../dialects/registry.ts'
import type { Evidence, Exchange } from '../../evidence/evidence.ts'
import { stepText } from '../../evidence/step.ts'
import { endText } from '../../evidence/wording.ts'
import { type Finding, finding } from '../../runner/check.ts'

export const GEMINI_USAGE = { promptTokenCount: 9, candidatesTokenCount: 4, totalTokenCount: 13 }

/** Returns an answer or a stream event with these parts. */
export const geminiAnswer = (parts: readonly object[], finishReason?: string) => ({
  candidates: [{ content: { parts, role: 'model' }, ...(finishReason && { finishReason }), index: 0 }],
  usageMetadata: GEMINI_USAGE,
  modelVersion: 'gemini-synthetic',
  responseId: 'synthetic',
})

/** Writes an event as Google does, with CR and LF. */
export const geminiEvent = (json: object) => ({ raw: `data: ${JSON.stringify(json)}\r\n\r\n` })

/** Compares the bytes of an answer with the provider's; returns nothing for translated answers. */
export function sameBytes(id: string, evidence: Evidence, exchange: Exchange): Finding[] {
  const entry = servedBy(evidence, exchange)
  if (entry && isCrossed(exchange, entry)) return []
  const sent = entry?.answer.body ?? ''
  const first = [...sent].findIndex((sign, n) => sign !== exchange.body[n])
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
            : `${exchange.body.length} characters, the same up to ${first < 0 ? sent.length : first}`,
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

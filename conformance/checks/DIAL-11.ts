// DIAL-11: At every target, streamed or not, the client gets the provider's text, tool calls, end and usage. If
// reasoning arrives, it is the provider's (Waybill: it arrives if both dialects show it). Integers in a call's
// arguments should keep all their digits (Waybill: must).

import { modelsOf, refs, servedBy } from '../dialects/lookup.ts'
import { readAnswer, readSent } from '../dialects/registry.ts'
import type { Evidence, Exchange } from '../evidence/evidence.ts'
import { step, stepText } from '../evidence/step.ts'
import { type Check, doubt, type Finding, finding } from '../runner/check.ts'
import { sameAs } from './expectations.ts'
import { sameAnswer } from './flow/parts.ts'
import { INCLUDE } from './use/parts.ts'

/** Answers of every kind, from each model. */
export const answerStep = step<{ model: string; scenario: string; stream: boolean }>('answer')

const SCENARIOS = [
  ...['plain', 'tools-parallel', 'finish-tool-calls', 'reasoning'],
  ...['finish-length', 'usage-cached'],
]

/** RFC 8259, section 6, only guarantees the digits that a double holds, so other gateways may round. */
export const LONG_NUMBERS = 'tools-long-numbers'

/**
 * Compares thoughts. Thoughts may be missing, because not every dialect has them and not every client
 * requests them. Different thoughts always fail.
 */
function sameThoughts(evidence: Evidence, exchange: Exchange, waybill: boolean): Finding[] {
  const entry = servedBy(evidence, exchange)
  if (entry === null) return []
  const [got, sent] = [readAnswer(exchange).reasoning, readSent(entry).reasoning]
  return [
    finding(
      'same-reasoning',
      got === sent || (got === '' && !waybill),
      `the reasoning that the client read in "${stepText(exchange)}"`,
      { expected: `${sent || 'none'}, as the provider sent it`, actual: got || 'none' },
      refs(exchange, entry),
    ),
  ]
}

export const sameAtEveryTarget = {
  id: 'DIAL-11',
  timeout: 90_000,
  async exercise(session) {
    for (const model of modelsOf(session))
      for (const scenario of [...SCENARIOS, LONG_NUMBERS])
        for (const stream of [false, true])
          await session.chat(answerStep.with({ model, scenario, stream }), {
            ...{ model, stream, script: [{ scenario }] },
            body: stream ? INCLUDE : {},
          })
  },
  judge: (judging) =>
    answerStep.in(judging.evidence).flatMap((exchange) => {
      const { evidence, waybill } = judging
      const entry = servedBy(evidence, exchange)
      if (entry === null)
        return [doubt('same-answer', `"${stepText(exchange)}" reached no provider`, refs(exchange))]
      if (exchange.details.scenario === LONG_NUMBERS)
        return [
          { ...sameAnswer(evidence, exchange, ['tools']), id: 'long-numbers-keep-digits', advice: true },
        ]
      return [
        sameAnswer(evidence, exchange, ['content', 'tools', 'finish']),
        ...(exchange.details.stream ? [sameAs('same-end', 'end', exchange, judging)] : []),
        sameAs('same-usage', 'usage', exchange, judging),
        ...sameThoughts(evidence, exchange, waybill),
      ]
    }),
} satisfies Check

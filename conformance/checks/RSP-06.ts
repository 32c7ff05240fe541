// RSP-06: `previous_response_id` goes to the provider that made that answer, even after a restart. Otherwise the
// call gets 400 `previous_response_not_found` without an inference. (Waybill: this holds from the moment when the
// client has received the end of the answer. If the gateway keeps the response, any provider can continue it.)

import { holdsWords, modelsOf, refs, requestsOf, servedBy } from '../dialects/lookup.ts'
import { dialectOf, isCrossed } from '../dialects/registry.ts'
import type { Evidence, Exchange } from '../evidence/evidence.ts'
import { at, jsonOf } from '../evidence/reading.ts'
import { step, stepText } from '../evidence/step.ts'
import { endText } from '../evidence/wording.ts'
import { type Check, finding } from '../runner/check.ts'

const NOBODYS = 'resp_of_nobody_waybill'

const steps = {
  first: step<{ model: string }>('first'),
  next: step<{ model: string }>('next'),
  unknown: step('of nobody'),
}

export const previousResponse = {
  id: 'RSP-06',
  needs: ['responses'],
  dialect: 'responses',
  async exercise(session) {
    for (const model of modelsOf(session)) {
      const first = await session.chat(steps.first.with({ model }), { model, body: { store: true } })
      const id = at(jsonOf(first.body), '/id')
      if (typeof id !== 'string') session.untestable(`the answer to a call of ${model} has no id`)
      await session.chat(steps.next.with({ model }), {
        model,
        body: { store: true, previous_response_id: id },
      })
    }
    await session.chat(steps.unknown, { body: { previous_response_id: NOBODYS } })
  },
  judge: ({ evidence, waybill }) => [
    ...steps.next.in(evidence).map((exchange) => {
      const first = steps.first.in(evidence).find(({ details }) => details.model === exchange.details.model)
      const made = first && servedBy(evidence, first)
      const entry = servedBy(evidence, exchange)
      const sent = at(entry?.body, '/previous_response_id')
      const native = made != null && !isCrossed(first!, made)
      // A gateway may send the whole history to the provider instead, but must not lose the history.
      const kept =
        entry !== null &&
        ((native && sent === at(jsonOf(made.answer.body ?? ''), '/id') && entry.provider === made.provider) ||
          holdsWords(entry, first!))
      return finding(
        'history-is-never-dropped',
        // If the provider does not store answers, an id may be refused with the message for this case.
        kept || (!native && isRefused(evidence, exchange, waybill)),
        `what became of previous_response_id in "${stepText(exchange)}"`,
        {
          expected: native
            ? 'it reaches the provider that made that answer'
            : 'the provider gets the whole history, or nothing is sent and it is called unknown',
          actual: `${endText(exchange)}; the provider got ${JSON.stringify(sent) ?? 'none'}`,
        },
        refs(exchange, entry),
      )
    }),
    ...steps.unknown.in(evidence).map((exchange) => {
      const entry = servedBy(evidence, exchange)
      const sent = at(entry?.body, '/previous_response_id')
      return finding(
        'unknown-is-called-so',
        (!waybill && sent === NOBODYS) || isRefused(evidence, exchange, waybill),
        'what became of a previous_response_id that nobody gave',
        {
          expected: `it is refused as ${waybill ? '400 previous_response_not_found' : '400 or 404'} without an inference${waybill ? '' : ', or the provider is asked with it'}`,
          actual: `${endText(exchange)}; the provider got ${JSON.stringify(sent) ?? 'none'}: ${exchange.body.slice(0, 100)}`,
        },
        refs(exchange, entry),
      )
    }),
  ],
} satisfies Check

/**
 * Returns true if the call was refused for its id without spending: clients then send the whole history
 * instead.
 */
const isRefused = (evidence: Evidence, exchange: Exchange, waybill: boolean): boolean =>
  requestsOf(evidence, exchange).length === 0 &&
  dialectOf(exchange).isError(exchange.body) &&
  (waybill
    ? exchange.status === 400 && exchange.body.includes('previous_response_not_found')
    : [400, 404, 422].includes(exchange.status ?? 0))

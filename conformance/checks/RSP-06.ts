// RSP-06: `previous_response_id` goes to the provider that made that answer, even after a restart; otherwise the call
// gets 400 `previous_response_not_found` without an inference.
import { type Check, finding } from '../check.ts'
import { refs, servedBy } from '../lookup.ts'
import { at, jsonOf } from '../reading.ts'
import { step } from '../step.ts'
import { isCrossed } from '../surfaces.ts'
import { ended } from '../words.ts'

const steps = {
  first: step('first'),
  next: step('next'),
  unknown: step('of nobody'),
}

export const previousResponse = {
  id: 'RSP-06',
  needs: ['responses'],
  surface: 'responses',
  async exercise(session) {
    const first = await session.chat(steps.first, { body: { store: true } })
    const id = at(jsonOf(first.body), '/id')
    if (typeof id !== 'string') session.untestable('the answer to a call has no id')
    await session.chat(steps.next, { body: { store: true, previous_response_id: id } })
    await session.chat(steps.unknown, { body: { previous_response_id: 'resp_of_nobody_waybill' } })
  },
  judge: ({ evidence }) => {
    const [first] = steps.first.in(evidence)
    const made = first && servedBy(evidence, first)
    return [...steps.next.in(evidence), ...steps.unknown.in(evidence)].map((exchange) => {
      const entry = servedBy(evidence, exchange)
      const sent = at(entry?.body, '/previous_response_id')
      const known = exchange.step === steps.next.step
      // A gateway may tell the provider the whole history instead; what it may not do is forget it.
      const kept = known
        ? entry !== null &&
          ((!isCrossed(exchange, entry) &&
            sent === at(jsonOf(made?.answer.body ?? ''), '/id') &&
            entry.provider === made?.provider) ||
            JSON.stringify(entry.body).includes(first!.nonce!))
        : entry !== null && sent === 'resp_of_nobody_waybill'
      const refused = exchange.status !== null && exchange.status >= 400 && exchange.status < 500
      return finding(
        'history-is-never-dropped',
        kept || refused,
        `what became of previous_response_id in "${exchange.step}"`,
        {
          expected: known
            ? 'it reaches the provider that made that answer, or is refused'
            : 'it is refused, or the provider is asked with it',
          actual: `${ended(exchange)}; the provider got ${JSON.stringify(sent) ?? 'none'}`,
        },
        refs(exchange, entry),
      )
    })
  },
} satisfies Check

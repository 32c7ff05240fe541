// LOG-04: The record is final within the declared lag (Waybill: no lag; a read that begins after the last byte of an
// answer sees that call closed).

import { recordIn, refs, requestIdOf } from '../dialects/lookup.ts'
import { at } from '../evidence/reading.ts'
import { recordExchange, step } from '../evidence/step.ts'
import { type Check, finding } from '../runner/check.ts'

const steps = {
  call: step('call'),
}

export const finalInTime = {
  id: 'LOG-04',
  needs: ['log', 'record', 'state'],
  async exercise(session) {
    for (const stream of [false, true]) {
      const exchange = await session.chat(steps.call, { stream })
      await session.record(exchange, session.target.observability.log!.lag_ms)
    }
  },
  judge: ({ evidence, target }) =>
    steps.call.in(evidence).map((exchange) => {
      const reading = recordExchange(evidence, exchange)
      const { fields, completed, lag_ms } = target.observability.log!
      const state = String(at(recordIn(target, reading, requestIdOf(target, exchange) ?? ''), fields.state))
      const late = reading ? Math.round(reading.at - exchange.end_at) : null
      return finding(
        'final-in-time',
        completed.includes(state),
        `the state on record, declared lag ${lag_ms} ms`,
        {
          expected: completed.join(' or '),
          actual: `${JSON.stringify(state)}, ${late ?? '?'} ms after the end`,
        },
        refs(exchange, reading),
      )
    }),
} satisfies Check

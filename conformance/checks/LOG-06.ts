// LOG-06: If the client disconnects, the call is not recorded as successfully completed.

import { recordIn, refs, requestIdOf } from '../dialects/lookup.ts'
import { at } from '../evidence/reading.ts'
import { recordExchange, step } from '../evidence/step.ts'
import { type Check, doubt, finding } from '../runner/check.ts'
import { hasError, leaveStream } from './log.ts'

const steps = {
  left: step('left'),
}

export const leftIsNotCompleted = {
  id: 'LOG-06',
  needs: ['log', 'record', 'state'],
  hostile: true,
  async exercise(session) {
    const exchange = await leaveStream(session, steps.left)
    await session.wait(session.target.observability.log!.lag_ms)
    await session.record(exchange)
  },
  judge: ({ evidence, target }) =>
    steps.left.in(evidence).map((exchange) => {
      if (exchange.status === null)
        return doubt('left-is-not-completed', 'The client left before an answer began.', refs(exchange))
      const reading = recordExchange(evidence, exchange)
      const record = recordIn(target, reading, requestIdOf(target, exchange) ?? '')
      const { fields, completed } = target.observability.log!
      const state = at(record, fields.state)
      const isOpen = hasError(target, record) || !completed.includes(String(state))
      const ok = exchange.end === 'left' && record !== undefined && isOpen
      return finding(
        'left-is-not-completed',
        ok,
        `the state on record of a call that the client left (${exchange.end})`,
        { expected: 'one, and not a completed one', actual: JSON.stringify(state) ?? 'nothing' },
        refs(exchange, reading),
      )
    }),
} satisfies Check

// FLOW-09: An error event after the response has started reaches the client (gateways that tell their route: the
// call is also recorded as failed).

import { everyModel, recordIn, refs, requestIdOf, servedBy } from '../dialects/lookup.ts'
import { delta } from '../dialects/scripted.ts'
import { at } from '../evidence/reading.ts'
import { recordExchange, step, stepText } from '../evidence/step.ts'
import { type Check, finding } from '../runner/check.ts'
import { heldBack, isVisible, noteHeldBack } from './flow.ts'
import { hasError } from './log/parts.ts'

const steps = {
  errorAfterTheResponseStart: step<{ model: string }>('error after the response start'),
}

export const lateErrorArrives = {
  id: 'FLOW-09',
  hostile: true,
  timeout: 90_000,
  async exercise(session) {
    for (const model of everyModel(session)) {
      const gate = session.nonce()
      // The provider fails only after the client has the first event: before that, a gateway may still fall
      // back.
      const events = [delta('one'), { gate }, { failure: 'synthetic' }]
      const call = await session.openChat(steps.errorAfterTheResponseStart.with({ model }), {
        ...{ model, stream: true, script: [{ events }] },
      })
      const begun = await call.says('one')
      await session.mock.release(gate)
      const exchange = await call.done
      if (!begun && (await session.mock.seen(call.nonce, 1))) noteHeldBack(session, exchange)
      await session.record(exchange)
      await session.wait(session.target.capabilities.cooldown_ms)
    }
  },
  judge: ({ evidence, target }) =>
    steps.errorAfterTheResponseStart.in(evidence).flatMap((exchange) => {
      const open = heldBack('error-is-visible', evidence, exchange)
      if (open) return [open]
      const entry = servedBy(evidence, exchange)
      const visible = finding(
        'error-is-visible',
        entry !== null && isVisible(exchange),
        `what the client saw of "${stepText(exchange)}"`,
        {
          expected: 'an error',
          actual: !entry ? 'the provider was not asked' : isVisible(exchange) ? 'an error' : 'none',
        },
        refs(exchange, entry),
      )
      const reading = recordExchange(evidence, exchange)
      const { log } = target.observability
      if (!reading || log?.fields.state === undefined || log.failed.length === 0) return [visible]
      const record = recordIn(target, reading, requestIdOf(target, exchange) ?? '')
      const state = String(at(record, log.fields.state))
      return [
        visible,
        finding(
          'record-says-failed',
          log.failed.includes(state) || hasError(target, record),
          `the state on record of "${stepText(exchange)}"`,
          { expected: `${log.failed.join(' or ')}, or an error`, actual: JSON.stringify(state) },
          refs(reading),
        ),
      ]
    }),
} satisfies Check

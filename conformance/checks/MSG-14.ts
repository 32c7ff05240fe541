// MSG-14: After the response has started, an error arrives as an `error` event, or as a reset (Waybill: as an event,
// and the call is recorded as failed).

import { everyModel, refs, servedBy } from '../dialects/lookup.ts'
import { dialectOf, readAnswer } from '../dialects/registry.ts'
import { delta } from '../dialects/scripted.ts'
import { readEvents } from '../evidence/reading.ts'
import { step, stepText } from '../evidence/step.ts'
import { type Check, finding } from '../runner/check.ts'
import { heldBack, noteHeldBack } from './flow.ts'

const call = step<{ model: string }>('error after the response start')

export const lateErrorEvent = {
  id: 'MSG-14',
  needs: ['messages'],
  dialect: 'messages',
  hostile: true,
  timeout: 90_000,
  async exercise(session) {
    for (const model of everyModel(session)) {
      const gate = session.nonce()
      const script = [{ events: [delta('one'), { gate }, { failure: 'synthetic' }] }]
      const open = await session.openChat(call.with({ model }), { model, stream: true, script })
      const begun = await open.says('one')
      await session.mock.release(gate)
      const exchange = await open.done
      if (!begun) noteHeldBack(session, exchange)
      await session.wait(session.target.capabilities.cooldown_ms)
    }
  },
  judge: ({ evidence, waybill }) =>
    call.in(evidence).map((exchange) => {
      const open = heldBack('error-is-an-event', evidence, exchange)
      if (open) return open
      const events = readEvents(exchange.body)
      const isReset = !waybill && exchange.end === 'cut' && readAnswer(exchange).done === 0
      const ok =
        isReset || events.some(({ event, data }) => event === 'error' && dialectOf(exchange).isError(data))
      return finding(
        'error-is-an-event',
        ok,
        `how the client was told of "${stepText(exchange)}"`,
        {
          expected: `an event "error" with an error of the dialect${waybill ? '' : ', or a reset'}`,
          actual: ok ? 'so' : `at last ${JSON.stringify(events.at(-1) ?? null).slice(0, 160)}`,
        },
        refs(exchange, servedBy(evidence, exchange)),
      )
    }),
} satisfies Check

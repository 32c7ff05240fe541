// MSG-14: After the response has started, an error arrives as an `error` event (Waybill: and the call is recorded as
// failed).
import { type Check, finding } from '../check.ts'
import { refs, servedBy } from '../lookup.ts'
import { eventsOf } from '../reading.ts'
import { delta } from '../scripted.ts'
import { step } from '../step.ts'
import { surfaceOf } from '../surfaces.ts'

const call = step('error after the response start')

export const lateErrorEvent = {
  id: 'MSG-14',
  needs: ['messages'],
  surface: 'messages',
  hostile: true,
  async exercise(session) {
    const gate = session.nonce()
    const script = [{ events: [delta('one'), { gate }, { failure: 'synthetic' }] }]
    const open = await session.openChat(call, { stream: true, script })
    const begun = await open.says('one')
    await session.witness.release(gate)
    await open.done
    await session.wait(session.target.capabilities.cooldown_ms)
    if (!begun)
      session.untestable('the first event of a stream did not reach the client before the next one was there')
  },
  judge: ({ evidence }) =>
    call.in(evidence).map((exchange) => {
      const events = eventsOf(exchange.body)
      const ok = events.some(({ event, data }) => event === 'error' && surfaceOf(exchange).isError(data))
      return finding(
        'error-is-an-event',
        ok,
        'how the client was told of an error in a stream that had begun',
        {
          expected: 'an event "error" with an error of the dialect',
          actual: ok ? 'so' : `at last ${JSON.stringify(events.at(-1) ?? null).slice(0, 160)}`,
        },
        refs(exchange, servedBy(evidence, exchange)),
      )
    }),
} satisfies Check

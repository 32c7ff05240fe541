// ROUTE-08: After the response has started, nothing is retried.
import type { Step } from '../../mocks/script.ts'
import { type Check, finding } from '../check.ts'
import { refs, requestsOf } from '../lookup.ts'
import { readChat } from '../reading.ts'
import { delta, errorBody } from '../scripted.ts'

export const nothingAfterCommit = {
  id: 'ROUTE-08',
  hostile: true,
  timeout: 60_000,
  async exercise(session) {
    const { logical } = session.target.models
    const model = logical.find(({ targets }) => targets.length > 1)?.id ?? session.model
    const endings: [string, Step][] = [
      ['cut', { end: 'cut' }],
      ['error event', { data: errorBody('synthetic') }],
    ]
    for (const [label, ending] of endings) {
      // The provider fails when the client has the first event, not before: until then a gateway may still move on.
      const gate = session.nonce()
      const script = [{ events: [delta('one'), { gate }, ending] }]
      const call = await session.openChat(label, { model, stream: true, script })
      const started = await call.until((body) => readChat(body).content.includes('one'), 5_000)
      await session.witness.release(gate)
      await call.done
      if (!started)
        session.untestable(
          'the first event of a stream did not reach the client before the next one was there',
        )
      await session.drain()
      await session.wait(session.target.capabilities.cooldown_ms)
    }
  },
  judge: ({ evidence }) =>
    evidence.exchanges.map((exchange) => {
      const entries = requestsOf(evidence, exchange)
      return finding(
        'nothing-is-retried',
        entries.length === 1,
        `requests to providers for a call whose stream had begun (${exchange.label} after the first event)`,
        refs(exchange, ...entries),
        { expected: '1', actual: String(entries.length) },
      )
    }),
} satisfies Check

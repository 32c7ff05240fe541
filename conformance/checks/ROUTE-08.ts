// ROUTE-08: After the response has started, nothing is retried.
import type { Step as ScriptStep } from '../../mocks/script.ts'
import { type Check, finding } from '../check.ts'
import { refs, requestsOf } from '../lookup.ts'
import { delta } from '../scripted.ts'
import { step } from '../step.ts'

const broken = step<{ how: string }>('the stream breaks')

export const nothingAfterCommit = {
  id: 'ROUTE-08',
  hostile: true,
  timeout: 60_000,
  async exercise(session) {
    const { logical } = session.target.models
    const model = logical.find(({ targets }) => targets.length > 1)?.id ?? session.model
    const endings: [string, ScriptStep][] = [
      ['cut', { end: 'cut' }],
      ['error event', { failure: 'synthetic' }],
    ]
    for (const [how, ending] of endings) {
      // The provider fails when the client has the first event, not before: until then a gateway may still move on.
      const gate = session.nonce()
      const script = [{ events: [delta('one'), { gate }, ending] }]
      const call = await session.openChat(broken.with({ how }), { model, stream: true, script })
      const started = await call.says('one')
      await session.witness.release(gate)
      await call.done
      if (!started)
        session.untestable(
          'the first event of a stream did not reach the client before the next one was there',
        )
      await session.wait(session.target.capabilities.cooldown_ms)
    }
    await session.drain()
  },
  judge: ({ evidence }) =>
    broken.in(evidence).map((exchange) => {
      const entries = requestsOf(evidence, exchange)
      return finding(
        'nothing-is-retried',
        entries.length === 1,
        `requests to providers for a call whose stream had begun (${exchange.details.how} after the first event)`,
        { expected: '1', actual: String(entries.length) },
        refs(exchange, ...entries),
      )
    }),
} satisfies Check

// ROUTE-08: After the response has started, nothing is retried.
import type { ScriptStep } from '../../mocks/server/script.ts'
import { refs, requestsOf } from '../dialects/lookup.ts'
import { step } from '../evidence/step.ts'
import { type Check, finding } from '../runner/check.ts'
import { breakStream } from './log/parts.ts'

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
      // Before the client has the first event, a gateway may still fall back.
      const { started } = await breakStream(session, broken.with({ how }), { model, ending })
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
      // Attempts before the start of an answer are not retries of the answer.
      const began = entries.findIndex(({ answer }) => answer.status === 200)
      const retries = entries.slice(began + 1)
      return finding(
        'nothing-is-retried',
        began >= 0 && retries.length === 0,
        `requests to providers for a call after its stream had begun (${exchange.details.how} after the first event)`,
        { expected: 'none', actual: began < 0 ? 'no stream began' : String(retries.length) },
        refs(exchange, ...entries),
      )
    }),
} satisfies Check

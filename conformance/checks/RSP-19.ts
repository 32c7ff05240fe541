// RSP-19: A response over a WebSocket has the same events as over HTTP, and a failure arrives as a failure.
import { isDeepStrictEqual } from 'node:util'
import { everyModel, modelsOf, refs, servedBy } from '../dialects/lookup.ts'
import { isCrossed, readAnswer } from '../dialects/registry.ts'
import { scriptedFailure } from '../dialects/scripted.ts'
import type { Exchange } from '../evidence/evidence.ts'
import { at, jsonOf, readEvents } from '../evidence/reading.ts'
import { step, stepText } from '../evidence/step.ts'
import { endText, listed } from '../evidence/wording.ts'
import { type Check, doubt, finding } from '../runner/check.ts'
import { isVisible, meaningOf } from './flow.ts'

interface Asked extends Readonly<Record<string, string>> {
  readonly model: string
  readonly scenario: string
}

const steps = {
  http: step<Asked>('over HTTP'),
  socket: step<Asked>('over a WebSocket'),
  failure: step<{ model: string }>('a provider refuses, over a WebSocket'),
}

/** Events that every Responses client reads; a gateway may send other events at any time. */
const KNOWN =
  /^response\.(created|completed|incomplete|failed|(output_item|content_part)\.(added|done)|(output_text|function_call_arguments)\.(delta|done))$/

/** Returns the known event types, each once, in order of first occurrence. */
const typesIn = ({ body }: Exchange): string[] => [
  ...new Set(
    readEvents(body)
      .map(({ data }) => String(at(jsonOf(data), '/type')))
      .filter((type) => KNOWN.test(type)),
  ),
]

export const socketAsOverHttp = {
  id: 'RSP-19',
  needs: ['responses', 'websocket'],
  dialect: 'responses',
  timeout: 120_000,
  async exercise(session) {
    const first = session.model
    for (const model of everyModel(session))
      for (const scenario of ['plain', 'tools', ...(model === first ? ['reasoning', 'finish-length'] : [])]) {
        const [asked, script] = [{ model, scenario }, [{ scenario }]]
        await session.chat(steps.http.with(asked), { model, stream: true, script })
        await session.chatOverSocket(steps.socket.with(asked), { model, script })
      }
    for (const model of modelsOf(session))
      await session.chatOverSocket(steps.failure.with({ model }), {
        model,
        script: [{ ...scriptedFailure(400), times: 'every' }],
      })
  },
  judge({ evidence }) {
    const overHttp = steps.http.in(evidence)
    return [
      ...steps.socket.in(evidence).flatMap((exchange) => {
        const { model, scenario } = exchange.details
        const there = overHttp.find(
          ({ details }) => details.model === model && details.scenario === scenario,
        )!
        const see = refs(there, exchange)
        if (there.status !== 200 || there.end !== 'complete')
          return [doubt('same-answer', `${stepText(there)}: ${endText(there)}`, see)]
        const entry = servedBy(evidence, there)
        const isTranslated = entry !== null && isCrossed(there, entry)
        const [one, other] = [there, exchange].map((each) => meaningOf(readAnswer(each), isTranslated))
        const parts = (['content', 'reasoning', 'tools', 'finish', 'usage'] as const).filter(
          (part) => !isDeepStrictEqual(one![part], other![part]),
        )
        const [types, got] = [typesIn(there), typesIn(exchange)]
        return [
          finding(
            'same-answer',
            parts.length === 0,
            `what differs between the two transports in "${stepText(exchange)}"`,
            { expected: 'nothing', actual: `${listed(parts, 'nothing')}; ${endText(exchange)}` },
            see,
          ),
          finding(
            'same-events',
            isDeepStrictEqual(types, got),
            `the types of events in "${stepText(exchange)}"`,
            { expected: listed(types), actual: listed(got) },
            see,
          ),
        ]
      }),
      ...steps.failure.in(evidence).map((exchange) =>
        finding(
          'failure-arrives',
          exchange.end !== 'timed_out' && isVisible(exchange) && readAnswer(exchange).done === 0,
          `the end of "${stepText(exchange)}"`,
          {
            expected: 'an error',
            actual: `${endText(exchange)}, ${exchange.error ?? exchange.body.slice(0, 120)}`,
          },
          refs(exchange),
        ),
      ),
    ]
  },
} satisfies Check

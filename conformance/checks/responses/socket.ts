// Checks of the Responses dialect over a WebSocket.

import { isDeepStrictEqual } from 'node:util'
import { scriptedFailure } from '../../dialects/dialect.ts'
import {
  everyModel,
  idsIn,
  isCrossed,
  listRequest,
  modelsOf,
  readAnswer,
  refs,
  requestsOf,
  servedBy,
} from '../../dialects/lookup.ts'
import { difference, type Exchange, endText, listed, step, stepText } from '../../evidence/evidence.ts'
import { at, jsonOf, readEvents } from '../../evidence/reading.ts'
import { declares } from '../../target/schema.ts'
import { doubt, each, family, type Told } from '../check.ts'
import { isVisible, meaningOf, ordinaryCall, pace } from '../flow/parts.ts'
import { anonymousIn } from '../kept.ts'
import { answeredOf } from './parts.ts'

const check = family({ needs: ['responses'], dialect: 'responses' })

const textOf = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value))

const upgrade = step('upgrade')

/** Maximum delay that counts as immediate, ms. */
const AT_ONCE_MS = 2_000

check('RSP-08', {
  async exercise(session) {
    await ordinaryCall(session)
    await session.ask(upgrade, session.dialect.path, {
      headers: {
        ...{ connection: 'Upgrade', upgrade: 'websocket' },
        ...{ 'sec-websocket-version': '13', 'sec-websocket-key': 'd2F5YmlsbC1jb25mb3JtIQ==' },
      },
    })
  },
  judge: each(upgrade, ({ exchange, evidence }) => {
    const took = Math.round(exchange.end_at - exchange.at)
    const limit = Math.round(AT_ONCE_MS + pace(evidence))
    const allowed = [426, 101]
    return {
      'upgrade-is-answered': [
        allowed.includes(exchange.status ?? 0) && took <= limit,
        `the answer to an upgrade of ${exchange.request.path}`,
        `${allowed.join(' or ')} within ${limit} ms: after any other status clients try again for seconds`,
        `${endText(exchange)} after ${took} ms`,
      ],
    }
  }),
})

const frames = {
  bad: step<{ message: string }>('bad message'),
  wrongKey: step('a message with a wrong key'),
  good: step('an ordinary message'),
}

/** Texts that replace the ordinary message. */
const BAD: Readonly<Record<string, (message: string) => string | Buffer>> = {
  'cut off': (message) => message.slice(0, -1),
  'a list': (message) => `[${message}]`,
  binary: (message) => Buffer.from(message),
  'without a model': (message) => JSON.stringify({ ...JSON.parse(message), model: undefined }),
  'model of the wrong type': (message) => JSON.stringify({ ...JSON.parse(message), model: 7 }),
  'input of the wrong type': (message) => JSON.stringify({ ...JSON.parse(message), input: 7 }),
}

const isServed = (exchange: Exchange): boolean => readAnswer(exchange).done > 0

const outcomeOf = (exchange: Exchange): string =>
  `${endText(exchange)}, ${exchange.error ?? exchange.body.slice(0, 120)}`

check('RSP-18', {
  needs: ['responses', 'websocket'],
  timeout: 150_000,
  async exercise(session) {
    for (const [message, frame] of Object.entries(BAD)) {
      const { end } = await session.chatOverSocket(frames.bad.with({ message }), { frame })
      if (end === 'timed_out') break
    }
    if (declares(session.target, 'gateway_keys'))
      await session.chatOverSocket(frames.wrongKey, { key: 'a-key-that-nobody-has' })
    await session.drain()
    await session.chatOverSocket(frames.good)
  },
  judge({ evidence }) {
    const anonymous = anonymousIn(evidence)
    return [
      frames.bad.in(evidence).map((exchange): Told => {
        const answered = [
          ...answeredOf(evidence, exchange),
          ...anonymous.filter(({ at }) => at >= exchange.at && at <= exchange.end_at),
        ]
        return {
          'refused-costs-nothing': [
            isServed(exchange) || answered.length === 0,
            `inferences for "${stepText(exchange)}", which was not answered`,
            'none',
            `${answered.length}; ${outcomeOf(exchange)}`,
            refs(exchange, ...answered),
          ],
          'refusal-is-said': [
            exchange.end !== 'timed_out',
            `the end of "${stepText(exchange)}"`,
            'an answer, an error, or a connection that is closed',
            outcomeOf(exchange),
            refs(exchange),
          ],
        }
      }),
      frames.wrongKey.in(evidence).map((exchange): Told => {
        const entries = requestsOf(evidence, exchange)
        return {
          'key-is-needed': [
            !isServed(exchange) && entries.length === 0,
            'a message on a connection with a key that is wrong',
            'it is refused, and nothing is sent',
            outcomeOf(exchange),
            refs(exchange, ...entries),
          ],
        }
      }),
      frames.good.in(evidence).map(
        (exchange): Told => ({
          'next-is-served': [
            isServed(exchange),
            'an ordinary message after the bad ones',
            'an answer',
            outcomeOf(exchange),
            refs(exchange),
          ],
        }),
      ),
    ]
  },
})

interface Asked extends Readonly<Record<string, string>> {
  readonly model: string
  readonly scenario: string
}

const transports = {
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

check('RSP-19', {
  needs: ['responses', 'websocket'],
  timeout: 120_000,
  async exercise(session) {
    const first = session.model
    for (const model of everyModel(session))
      for (const scenario of ['plain', 'tools', ...(model === first ? ['reasoning', 'finish-length'] : [])]) {
        const [asked, script] = [{ model, scenario }, [{ scenario }]]
        await session.chat(transports.http.with(asked), { model, stream: true, script })
        await session.chatOverSocket(transports.socket.with(asked), { model, script })
      }
    for (const model of modelsOf(session))
      await session.chatOverSocket(transports.failure.with({ model }), {
        model,
        script: [{ ...scriptedFailure(400), times: 'every' }],
      })
  },
  judge({ evidence }) {
    const overHttp = transports.http.in(evidence)
    return [
      transports.socket.in(evidence).map((exchange): Told => {
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
        return {
          'same-answer': [
            parts.length === 0,
            `what differs between the two transports in "${stepText(exchange)}"`,
            'nothing',
            `${listed(
              parts.map((part) => `${part}: ${difference(textOf(other![part]), textOf(one![part]))}`),
              'nothing',
            )}; ${endText(exchange)}`,
            see,
          ],
          'same-events': [
            isDeepStrictEqual(types, got),
            `the types of events in "${stepText(exchange)}"`,
            listed(types),
            listed(got),
            see,
          ],
        }
      }),
      transports.failure.in(evidence).map(
        (exchange): Told => ({
          'failure-arrives': [
            exchange.end !== 'timed_out' && isVisible(exchange) && readAnswer(exchange).done === 0,
            `the end of "${stepText(exchange)}"`,
            'an error',
            `${endText(exchange)}, ${exchange.error ?? exchange.body.slice(0, 120)}`,
            refs(exchange),
          ],
        }),
      ),
    ]
  },
})

const logged = { before: step('the log before'), message: step('a message'), after: step('the log after') }

const MESSAGES = 3

check('RSP-21', {
  needs: ['responses', 'websocket', 'list'],
  async exercise(session) {
    const log = session.target.observability.log!
    const { path, ...request } = listRequest(log)
    const key = session.running.keys.reader
    await session.ask(logged.before, path, { ...request, key })
    for (let n = 0; n < MESSAGES; n++) await session.chatOverSocket(logged.message)
    await session.wait(log.lag_ms)
    await session.ask(logged.after, path, { ...request, key })
  },
  judge({ evidence, target }) {
    const [[before], [after], messages] = [
      logged.before.in(evidence),
      logged.after.in(evidence),
      logged.message.in(evidence),
    ]
    const failed = messages.find((each) => readAnswer(each).done === 0)
    if (failed) return [doubt('is-on-record', `A message was not answered: ${endText(failed)}`, refs(failed))]
    const old = new Set(idsIn(target, before!))
    const fresh = idsIn(target, after!).filter((id) => !old.has(id))
    return {
      'is-on-record': [
        fresh.length >= MESSAGES,
        `new records in the log after ${MESSAGES} responses over WebSockets`,
        `at least ${MESSAGES}`,
        String(fresh.length),
        refs(before, after, ...messages),
      ],
    }
  },
})

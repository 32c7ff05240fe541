// RSP-18: A message on a WebSocket is answered, or refused without an inference. It needs a key if a call over HTTP
// needs one.
import { refs, requestsOf } from '../dialects/lookup.ts'
import { readAnswer } from '../dialects/registry.ts'
import type { Exchange } from '../evidence/evidence.ts'
import { step, stepText } from '../evidence/step.ts'
import { endText } from '../evidence/wording.ts'
import { type Check, finding } from '../runner/check.ts'
import { declares } from '../target/schema.ts'
import { answeredOf } from './responses.ts'

const steps = {
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

const said = (exchange: Exchange): string =>
  `${endText(exchange)}, ${exchange.error ?? exchange.body.slice(0, 120)}`

export const refusedMessages = {
  id: 'RSP-18',
  needs: ['responses', 'websocket'],
  dialect: 'responses',
  timeout: 150_000,
  async exercise(session) {
    for (const [message, frame] of Object.entries(BAD)) {
      const { end } = await session.chatOverSocket(steps.bad.with({ message }), { frame })
      if (end === 'timed_out') break
    }
    if (declares(session.target, 'gateway_keys'))
      await session.chatOverSocket(steps.wrongKey, { key: 'a-key-that-nobody-has' })
    await session.drain()
    await session.chatOverSocket(steps.good)
  },
  judge({ evidence }) {
    const anonymous = evidence.ledger.filter(({ kind, nonce }) => kind === 'inference' && nonce === null)
    return [
      ...steps.bad.in(evidence).flatMap((exchange) => {
        const answered = [
          ...answeredOf(evidence, exchange),
          ...anonymous.filter(({ at }) => at >= exchange.at && at <= exchange.end_at),
        ]
        return [
          finding(
            'refused-costs-nothing',
            isServed(exchange) || answered.length === 0,
            `inferences for "${stepText(exchange)}", which was not answered`,
            { expected: 'none', actual: `${answered.length}; ${said(exchange)}` },
            refs(exchange, ...answered),
          ),
          finding(
            'refusal-is-said',
            exchange.end !== 'timed_out',
            `the end of "${stepText(exchange)}"`,
            { expected: 'an answer, an error, or a connection that is closed', actual: said(exchange) },
            refs(exchange),
          ),
        ]
      }),
      ...steps.wrongKey.in(evidence).map((exchange) => {
        const entries = requestsOf(evidence, exchange)
        return finding(
          'key-is-needed',
          !isServed(exchange) && entries.length === 0,
          'a message on a connection with a key that is wrong',
          { expected: 'it is refused, and nothing is sent', actual: said(exchange) },
          refs(exchange, ...entries),
        )
      }),
      ...steps.good
        .in(evidence)
        .map((exchange) =>
          finding(
            'next-is-served',
            isServed(exchange),
            'an ordinary message after the bad ones',
            { expected: 'an answer', actual: said(exchange) },
            refs(exchange),
          ),
        ),
    ]
  },
} satisfies Check

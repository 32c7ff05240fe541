// SRV-06: A stop string ends the answer and is not part of its text, streamed or not.
import { ref } from '../dialects/lookup.ts'
import { dialectOf, readAnswer } from '../dialects/registry.ts'
import { step } from '../evidence/step.ts'
import { type Check, finding } from '../runner/check.ts'
import { ANSWER_TIMEOUT_MS, answered, small } from './server.ts'

const call = step<{ stream: boolean }>('call')

/** Letters that occur in almost every text of any model. */
const STOPS = ['e', 'a', 'o', 'i']

export const stopStringsStayOut = {
  id: 'SRV-06',
  async exercise(session) {
    const name = session.dialect.name === 'messages' ? 'stop_sequences' : 'stop'
    for (const stream of [false, true])
      await session.chat(call.with({ stream }), {
        stream,
        body: { ...small(session, stream), [name]: STOPS },
        timeout: ANSWER_TIMEOUT_MS,
      })
  },
  judge: ({ evidence }) =>
    call.in(evidence).flatMap((exchange) => {
      const { content } = readAnswer(exchange)
      const kind = exchange.details.stream ? 'streamed' : 'whole'
      const found = STOPS.filter((stop) => content.includes(stop))
      return [
        answered(exchange, `a ${kind} ${dialectOf(exchange).name} call with stop strings`),
        finding(
          'stop-strings-stay-out',
          found.length === 0,
          `stop strings in the text of a ${kind} answer`,
          { expected: 'none', actual: `${found.join(', ') || 'none'} in ${JSON.stringify(content)}` },
          [ref(exchange)],
        ),
      ]
    }),
} satisfies Check

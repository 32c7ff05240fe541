// SRV-05: An answer reports the token limit as the reason for its end if the limit ended it, and only then.
import { ref } from '../dialects/lookup.ts'
import { readAnswer } from '../dialects/registry.ts'
import { step } from '../evidence/step.ts'
import { absent, type Check, finding } from '../runner/check.ts'
import { ANSWER_TIMEOUT_MS, answered, FEW_TOKENS, isTokenCount, small, usageCounts } from './server.ts'

const call = step<{ stream: boolean }>('call')

export const theLimitIsReported = {
  id: 'SRV-05',
  async exercise(session) {
    for (const stream of [false, true])
      await session.chat(call.with({ stream }), {
        stream,
        prompt: 'Count from one to one hundred in words.',
        body: small(session, stream),
        timeout: ANSWER_TIMEOUT_MS,
      })
  },
  judge: ({ evidence }) =>
    call.in(evidence).flatMap((exchange) => {
      const output = usageCounts(exchange)?.completion_tokens
      const reason = readAnswer(exchange).finish.at(-1)?.reason ?? 'none'
      const what = `the reason for the end of a ${exchange.details.stream ? 'streamed' : 'whole'} answer`
      const first = answered(exchange, 'a call with a small limit')
      if (!first.ok) return [first]
      // The model may have ended by itself before the limit or with its last token.
      if (!isTokenCount(output) || (output >= FEW_TOKENS && reason === 'stop'))
        return [
          first,
          absent('limit-is-reported', `${what} cannot be judged: usage is ${output}`, [ref(exchange)]),
        ]
      const isAtLimit = output >= FEW_TOKENS
      return [
        first,
        finding(
          'limit-is-reported',
          isAtLimit ? reason === 'length' : reason !== 'length',
          `${what} of ${output} tokens, where ${FEW_TOKENS} were allowed`,
          { expected: isAtLimit ? 'the limit' : 'another one than the limit', actual: reason },
          [ref(exchange)],
        ),
      ]
    }),
} satisfies Check

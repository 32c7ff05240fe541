// MSG-15: `stream: false` works with every target.

import { refs, servedBy } from '../dialects/lookup.ts'
import { at, jsonOf } from '../evidence/reading.ts'
import { stepText } from '../evidence/step.ts'
import { endText } from '../evidence/wording.ts'
import { type Check, finding } from '../runner/check.ts'
import { whole } from './messages.ts'

export const wholeAnswers = {
  id: 'MSG-15',
  needs: ['messages'],
  dialect: 'messages',
  shares: 'MSG-02',
  judge: ({ evidence }) =>
    whole.in(evidence).map((exchange) => {
      const json = jsonOf(exchange.body)
      const isMessage =
        at(json, '/type') === 'message' &&
        at(json, '/role') === 'assistant' &&
        Array.isArray(at(json, '/content')) &&
        typeof at(json, '/stop_reason') === 'string'
      return finding(
        'answer-is-a-message',
        exchange.status === 200 && isMessage,
        `the answer to "${stepText(exchange)}"`,
        {
          expected: '200, and a whole message of the assistant',
          actual: `${endText(exchange)}: ${exchange.body.slice(0, 120)}`,
        },
        refs(exchange, servedBy(evidence, exchange)),
      )
    }),
} satisfies Check

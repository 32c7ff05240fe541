// MSG-08: In a translated stream, `message_start` has numbers in its usage, and `message_delta` has the final
// numbers. The official client adds the later numbers to the first.

import { refs, servedBy } from '../dialects/lookup.ts'
import { readSent } from '../dialects/registry.ts'
import { at } from '../evidence/reading.ts'
import { stepText } from '../evidence/step.ts'
import { type Check, finding } from '../runner/check.ts'
import { messageEvents, messageStreams } from './messages.ts'

export const streamHasUsage = {
  id: 'MSG-08',
  needs: ['messages'],
  dialect: 'messages',
  shares: 'MSG-02',
  judge: ({ evidence }) =>
    messageStreams.in(evidence).flatMap((exchange) => {
      const entry = servedBy(evidence, exchange)
      const see = refs(exchange, entry)
      const events = messageEvents(exchange)
      const first = events.find(({ type }) => type === 'message_start')?.message?.usage
      const numbers = [first?.input_tokens, first?.output_tokens]
      const last = events.findLast(({ type }) => type === 'message_delta')?.usage?.output_tokens
      const told = at(readSent(entry).usage.at(-1), '/completion_tokens')
      return [
        finding(
          'begins-with-numbers',
          numbers.every((each) => typeof each === 'number'),
          `input_tokens and output_tokens in message_start of "${stepText(exchange)}"`,
          { expected: 'two numbers', actual: numbers.map((each) => JSON.stringify(each)).join(' and ') },
          see,
        ),
        finding(
          'ends-with-the-final-ones',
          typeof last === 'number' && (told === undefined || last === told),
          `output_tokens in message_delta of "${stepText(exchange)}"`,
          {
            expected: told === undefined ? 'a number' : `${told}, as the provider told`,
            actual: JSON.stringify(last) ?? 'none',
          },
          see,
        ),
      ]
    }),
} satisfies Check

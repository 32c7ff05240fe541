// MSG-06: The reasons for the end of an answer are translated by the contract's table. An answer with tool calls
// ends with `tool_use`.

import { refs, servedBy } from '../dialects/lookup.ts'
import { readSent } from '../dialects/registry.ts'
import { at, jsonOf } from '../evidence/reading.ts'
import { stepText } from '../evidence/step.ts'
import { type Check, doubt, finding } from '../runner/check.ts'
import { messageEvents, messageStreams, whole } from './messages.ts'

/** Finish reasons of chat -> those of messages. Older gateways do not know `refusal`. */
const WORDS: Readonly<Record<string, readonly [string, ...string[]]>> = {
  stop: ['end_turn'],
  length: ['max_tokens'],
  tool_calls: ['tool_use'],
  content_filter: ['refusal', 'end_turn'],
}

export const endsAreTranslated = {
  id: 'MSG-06',
  needs: ['messages'],
  dialect: 'messages',
  shares: 'MSG-02',
  judge: ({ evidence, waybill }) =>
    [...messageStreams.in(evidence), ...whole.in(evidence)].map((exchange) => {
      const entry = servedBy(evidence, exchange)
      const see = refs(exchange, entry)
      const said = readSent(entry).finish[0]?.reason
      if (said === undefined || exchange.status !== 200)
        return doubt('end-keeps-its-meaning', `"${stepText(exchange)}" was not answered`, see)
      const json = jsonOf(exchange.body)
      const got =
        json === undefined
          ? messageEvents(exchange).findLast(({ type }) => type === 'message_delta')?.delta?.stop_reason
          : at(json, '/stop_reason')
      const words = WORDS[said] ?? [said]
      const allowed = waybill ? words.slice(0, 1) : words
      return finding(
        'end-keeps-its-meaning',
        allowed.includes(String(got)),
        `the stop_reason of "${stepText(exchange)}"`,
        { expected: allowed.join(' or '), actual: String(got) },
        see,
      )
    }),
} satisfies Check

// FLOW-06: A stream that the provider cuts ends in an error that the client can see, without `[DONE]` (Waybill: an
// error event, and a body without its proper end).
import { type Check, finding } from '../check.ts'
import { refs, servedBy } from '../lookup.ts'
import { readChat } from '../reading.ts'
import { isVisible, streamEach } from './flow.ts'

export const cutIsVisible = {
  id: 'FLOW-06',
  hostile: true,
  exercise: streamEach('cut-after-2', 'cut-in-utf8'),
  judge: ({ evidence }) =>
    evidence.exchanges.map((exchange) => {
      const { done } = readChat(exchange.body)
      const entry = servedBy(evidence, exchange)
      const ok = entry !== null && isVisible(exchange) && done === 0
      return finding(
        'cut-is-visible',
        ok,
        `how the stream ended for the client when ${entry ? `the provider cut it (${exchange.label})` : 'no provider was asked'}`,
        refs(exchange, entry),
        {
          expected: 'an error, and no [DONE]',
          actual: `${isVisible(exchange) ? 'an error' : `an ordinary end (${exchange.end})`}${done > 0 ? `, with ${done} [DONE]` : ', and no [DONE]'}`,
        },
      )
    }),
} satisfies Check

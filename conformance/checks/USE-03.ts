// USE-03: Stream usage that was asked for is delivered (Waybill: the chunk that only the gateway asked for is
// withheld, and only that one).
import { type Check, finding } from '../check.ts'
import { labelled, refs } from '../lookup.ts'
import { readChat } from '../reading.ts'
import { INCLUDE, sides } from './use.ts'

export const streamUsageAsAsked = {
  id: 'USE-03',
  async exercise(session) {
    await session.chat('asked for', { stream: true, body: INCLUDE })
    await session.chat('not asked for', { stream: true })
    await session.chat('declined', { stream: true, body: { stream_options: { include_usage: false } } })
  },
  judge: ({ evidence, waybill }) => [
    ...labelled(evidence, 'asked for').map((exchange) => {
      const { entry, got } = sides(evidence, exchange)
      return finding(
        'asked-for-is-delivered',
        got !== null,
        `usage was asked for and ${got === null ? 'not ' : ''}delivered`,
        refs(exchange, entry),
      )
    }),
    ...(waybill ? [...labelled(evidence, 'not asked for'), ...labelled(evidence, 'declined')] : []).map(
      (exchange) => {
        const { entry, got } = sides(evidence, exchange)
        const [mine, theirs] = [readChat(exchange.body), readChat(entry?.answer.body ?? '')]
        const rest =
          mine.content === theirs.content &&
          mine.done === theirs.done &&
          mine.finish.length === theirs.finish.length
        return finding(
          'not-asked-for-is-withheld',
          got === null && rest,
          `${exchange.label}: usage was ${got === null ? 'withheld' : 'delivered'}, everything else is ${rest ? '' : 'not '}there`,
          refs(exchange, entry),
        )
      },
    ),
  ],
} satisfies Check

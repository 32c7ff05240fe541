// USE: tokens, as the provider counted them.
import { isDeepStrictEqual } from 'node:util'
import { type Check, finding } from '../check.ts'
import type { Evidence, Exchange } from '../evidence.ts'
import { labelled, recordIn, refs, requestIdOf, servedBy } from '../lookup.ts'
import { at, readChat } from '../reading.ts'

const COUNTS = ['prompt_tokens', 'completion_tokens', 'total_tokens'] as const

/** The usage that a body ends with; null where it has none. */
const usageIn = (body: string): unknown => readChat(body).usage.at(-1) ?? null

const countsIn = (usage: unknown) => COUNTS.map((name) => at(usage, `/${name}`))

const INCLUDE = { stream_options: { include_usage: true } }

/** The usage of an exchange beside that of the provider's answer. */
function sides(evidence: Evidence, exchange: Exchange) {
  const entry = servedBy(evidence, exchange)
  return { entry, got: usageIn(exchange.body), sent: usageIn(entry?.answer.body ?? '') }
}

export const usageReachesTheClient = {
  id: 'USE-01',
  async exercise(session) {
    for (const scenario of ['plain', 'usage-cached', 'reasoning']) {
      const script = [{ scenario }]
      await session.chat(`${scenario}`, { script })
      await session.chat(`${scenario}, streamed`, { script, stream: true, body: INCLUDE })
    }
  },
  judge: ({ evidence }) =>
    evidence.exchanges.map((exchange) => {
      const { entry, got, sent } = sides(evidence, exchange)
      const ok = sent !== null && isDeepStrictEqual(countsIn(got), countsIn(sent))
      return finding(
        ok,
        `${exchange.label}: the client saw ${countsIn(got).join(' / ')}, the provider reported ${countsIn(sent).join(' / ')}`,
        refs(exchange, entry),
      )
    }),
} satisfies Check

export const usageIsOnRecord = {
  id: 'USE-02',
  needs: ['log', 'request_id', 'tokens'],
  async exercise(session) {
    for (const stream of [false, true])
      for (const body of stream ? [{}, INCLUDE] : [{}]) {
        const exchange = await session.chat(`${stream ? 'streamed' : 'whole'}`, {
          stream,
          body,
          script: [{ scenario: 'usage-cached' }],
        })
        await session.record(`record of #${exchange.n}`, exchange)
      }
  },
  judge: ({ evidence, target, waybill }) =>
    [...labelled(evidence, 'whole'), ...labelled(evidence, 'streamed')].map((exchange) => {
      const [reading] = labelled(evidence, `record of #${exchange.n}`)
      const { fields } = target.observability.log!
      const record = recordIn(target, reading, requestIdOf(target, exchange) ?? '')
      const { entry, sent } = sides(evidence, exchange)
      const recorded = [at(record, fields.input_tokens), at(record, fields.output_tokens)]
      const reported = countsIn(sent).slice(0, 2)
      // A provider that was not asked for usage reports none; a gateway may then have counted by itself, this one not.
      const ok =
        sent === null
          ? entry !== null && (!waybill || !recorded.some((count) => typeof count === 'number' && count > 0))
          : isDeepStrictEqual(recorded, reported)
      return finding(
        ok,
        `${exchange.label}: on record ${recorded.join(' / ')}, reported ${reported.join(' / ') || 'nothing'}`,
        refs(exchange, reading, entry),
      )
    }),
} satisfies Check

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
          got === null && rest,
          `${exchange.label}: usage was ${got === null ? 'withheld' : 'delivered'}, everything else is ${rest ? '' : 'not '}there`,
          refs(exchange, entry),
        )
      },
    ),
  ],
} satisfies Check

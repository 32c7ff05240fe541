// USE-02: The usage on record equals what the serving provider reported, streamed or not.
import { isDeepStrictEqual } from 'node:util'
import { type Check, finding } from '../check.ts'
import { amountIn, recordIn, refs, requestIdOf } from '../lookup.ts'
import { at } from '../reading.ts'
import { inWords, recordOf, step } from '../step.ts'
import { dialectOf } from '../surfaces.ts'
import { CACHED, countsIn, INCLUDE, sides } from './use.ts'

const call = step<{ stream: boolean }>('call')

export const usageIsOnRecord = {
  id: 'USE-02',
  needs: ['log', 'record', 'tokens'],
  async exercise(session) {
    for (const stream of [false, true])
      for (const body of stream ? [{}, INCLUDE] : [{}]) {
        const exchange = await session.chat(call.with({ stream }), {
          stream,
          body,
          script: [{ scenario: 'usage-cached' }],
        })
        await session.record(exchange)
      }
  },
  judge: ({ evidence, target, waybill }) =>
    call.in(evidence).map((exchange) => {
      const reading = recordOf(evidence, exchange)
      const { fields } = target.observability.log!
      const record = recordIn(target, reading, requestIdOf(target, exchange) ?? '')
      const { entry, sent } = sides(evidence, exchange)
      // Waybill's own interface has numbers for numbers.
      const recorded = [at(record, fields.input_tokens), at(record, fields.output_tokens)].map((count) =>
        waybill || count == null ? count : amountIn(count),
      )
      const reported = countsIn(sent).slice(0, 2)
      // Anthropic does not count what came from the cache among its input tokens; neither need a log that says them so.
      const fresh = amountIn(reported[0]) - amountIn(at(sent, CACHED) ?? 0)
      const said =
        !waybill && entry && dialectOf(entry).name === 'messages'
          ? [reported, [fresh, reported[1]]]
          : [reported]
      // A provider that was not asked for usage reports none; a gateway may then have counted by itself, this one not.
      const ok =
        sent === null
          ? entry !== null && (!waybill || !recorded.some((count) => typeof count === 'number' && count > 0))
          : said.some((each) => isDeepStrictEqual(recorded, each))
      return finding(
        'usage-is-on-record',
        ok,
        `the tokens on record of "${inWords(exchange)}", input / output`,
        {
          expected:
            sent === null
              ? waybill
                ? 'none: none were reported'
                : 'anything: none were reported'
              : reported.join(' / '),
          actual: recorded.map((count) => count ?? 'none').join(' / '),
        },
        refs(exchange, reading, entry),
      )
    }),
} satisfies Check

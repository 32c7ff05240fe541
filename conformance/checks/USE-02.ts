// USE-02: The usage on record equals the usage that the serving provider reported, streamed or not.
import { isDeepStrictEqual } from 'node:util'
import { amountIn, recordIn, refs, requestIdOf } from '../dialects/lookup.ts'
import { providerDialectOf } from '../dialects/registry.ts'
import { at } from '../evidence/reading.ts'
import { recordExchange, step, stepText } from '../evidence/step.ts'
import { type Check, finding } from '../runner/check.ts'
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
      const reading = recordExchange(evidence, exchange)
      const { fields } = target.observability.log!
      const record = recordIn(target, reading, requestIdOf(target, exchange) ?? '')
      const { entry, sent } = sides(evidence, exchange)
      // Waybill's interface uses JSON numbers.
      const recorded = [at(record, fields.input_tokens), at(record, fields.output_tokens)].map((count) =>
        waybill || count == null ? count : amountIn(count),
      )
      const reported = countsIn(sent).slice(0, 2)
      // Anthropic's input tokens exclude cached tokens, and a log may do the same.
      const fresh = amountIn(reported[0]) - amountIn(at(sent, CACHED) ?? 0)
      const said =
        !waybill && entry && providerDialectOf(entry).name === 'messages'
          ? [reported, [fresh, reported[1]]]
          : [reported]
      // A provider that was not asked for usage does not report it; other gateways may then count by
      // themselves.
      const ok =
        sent === null
          ? entry !== null && (!waybill || !recorded.some((count) => typeof count === 'number' && count > 0))
          : said.some((each) => isDeepStrictEqual(recorded, each))
      return finding(
        'usage-is-on-record',
        ok,
        `the tokens on record of "${stepText(exchange)}", input / output`,
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

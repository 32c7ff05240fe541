// IMG-01: The cost of images comes from their usage or from their number, or is null. It is never 0 just because
// nothing was reported.
import { recordIn, refs, requestIdOf, servedBy, where } from '../dialects/lookup.ts'
import { at } from '../evidence/reading.ts'
import { recordExchange, step, stepText } from '../evidence/step.ts'
import { type Check, finding } from '../runner/check.ts'
import { PIXEL } from './images.ts'

const call = step<{ usage: string; n: number }>('call')

const USAGES = {
  none: {},
  tokens: { usage: { input_tokens: 50, output_tokens: 4160, total_tokens: 4210 } },
} as const

export const imagesArePriced = {
  id: 'IMG-01',
  needs: ['images', 'record', 'cost'],
  dialect: 'images',
  async exercise(session) {
    for (const [usage, more] of Object.entries(USAGES))
      for (const n of [1, 3]) {
        const body = { created: 1, data: Array.from({ length: n }, () => ({ b64_json: PIXEL })), ...more }
        await session.record(
          await session.chat(call.with({ usage, n }), { body: { n }, script: [{ status: 200, body }] }),
        )
      }
  },
  judge: ({ evidence, target }) =>
    call.in(evidence).map((exchange) => {
      const entry = servedBy(evidence, exchange)
      const reading = recordExchange(evidence, exchange)
      const record = recordIn(target, reading, requestIdOf(target, exchange) ?? '')
      const { cost, fields } = target.observability.log!
      const price = entry && cost!.prices[where(entry)]
      const usage = at(USAGES[exchange.details.usage as keyof typeof USAGES], '/usage') as
        | typeof USAGES.tokens.usage
        | undefined
      const usd =
        price && usage
          ? (usage.input_tokens * price.input + usage.output_tokens * price.output) / 1e6
          : undefined
      const said = at(record, fields.cost)
      const isRight = usd === undefined ? Number(said) > 0 : Math.abs(Number(said) - usd) < 1e-9
      return finding(
        usd === undefined ? 'never-0-without-usage' : 'priced-by-usage',
        record !== undefined && ((usd === undefined && said === null) || isRight),
        `the cost on record of "${stepText(exchange)}"`,
        {
          expected: usd === undefined ? 'null, or more than 0' : String(usd),
          actual: JSON.stringify(said) ?? 'nothing',
        },
        refs(exchange, reading, entry),
      )
    }),
} satisfies Check

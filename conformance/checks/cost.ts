// Checks of costs on record, with the usages of usages.yaml, and of a budget.
import { readFileSync } from 'node:fs'
import { parse } from 'yaml'
import { z } from 'zod'
import { packageFile } from '../../src/shared/package-root.ts'
import { TESTED_DIALECTS } from '../dialects/dialect.ts'
import {
  amountIn,
  providerDialectOf,
  readSent,
  recordIn,
  refs,
  requestIdOf,
  servedBy,
  where,
} from '../dialects/lookup.ts'
import { type Exchange, recordExchange, step, stepText } from '../evidence/evidence.ts'
import { at } from '../evidence/reading.ts'
import type { ModelPrice, Target } from '../target/schema.ts'
import { absent, doubt, type Finding, family, finding, type Judging } from './check.ts'
import type { CheckContext } from './context.ts'
import { INCLUDE, usageIn } from './log/parts.ts'

const check = family()

const TOKENS = ['input', 'output', 'cached_input', 'cache_write', 'cache_write_1h'] as const
const count = z.int().nonnegative()
const factors = z.partialRecord(z.enum(['service_tier', 'speed', 'region']), z.string())

const row = z
  .strictObject({
    row: z.string(),
    finding: z.string(),
    dialects: z.array(z.enum(TESTED_DIALECTS)).optional(),
    ask: z.record(z.string(), z.string()).default({}),
    usage: z.looseObject({ input: count, output: count }),
    bill: z.partialRecord(z.enum([...TOKENS, 'web_search']), count).optional(),
    by: factors.default({}),
    /** Factors that the target must declare although they do not affect the cost. */
    needs: factors.default({}),
    over: z.boolean().optional(),
    usd: z.number().nonnegative().optional(),
  })
  .refine(({ bill, usd }) => (bill === undefined) !== (usd === undefined), 'either bill or usd')
type UsageRow = z.output<typeof row>

export const USAGES: Readonly<Record<string, readonly UsageRow[]>> = z
  .record(z.string(), z.array(row).min(1))
  .parse(parse(readFileSync(packageFile('conformance/checks/usages.yaml'), 'utf8')))

const call = step<{ row: string; stream: boolean }>('call')

const costOf = ({ observability: { log } }: Target) => log!.cost!

/** Maximum number of rows, so that a list of the ten newest records still contains all of their calls. */
const ROWS_AT_ONCE = 4
/** Time that a record may take on a busy machine, ms; LOG-04 tests the lag. */
const PATIENCE_MS = 20_000

/** Makes a whole and a streamed call for each row of a check, and reads the records. */
async function makeCalls(session: CheckContext, id: string): Promise<void> {
  const { target, dialect } = session
  const { prices, reported } = costOf(target)
  const rows = USAGES[id]!.filter(
    (each) =>
      (each.dialects?.includes(dialect.name) ?? true) &&
      (each.usd === undefined
        ? Object.values(prices).some((price) => usdOf(each, price) !== null)
        : reported !== undefined),
  )
  for (let begin = 0; begin < rows.length; begin += ROWS_AT_ONCE) {
    const exchanges = await Promise.all(
      rows.slice(begin, begin + ROWS_AT_ONCE).flatMap((each) =>
        [false, true].map((stream) =>
          session.chat(call.with({ row: each.row, stream }), {
            stream,
            body: { ...each.ask, ...(stream && dialect.name === 'chat' && INCLUDE) },
            script: [{ say: { text: 'It is known.' }, usage: each.usage }],
            ...(each.usd !== undefined && { model: reported!.model }),
          }),
        ),
      ),
    )
    for (const exchange of exchanges) await session.record(exchange, PATIENCE_MS, hasCost(target))
  }
}

/** Some gateways add the cost after the end of the record. */
const hasCost = (target: Target) => (record: unknown) =>
  !Number.isNaN(amountIn(at(record, target.observability.log!.fields.cost)))

/** Compares the cost of each call with the bill of its row. Omits calls to which the question does not apply. */
function judgeCosts({ evidence, target }: Judging, id: string): Finding[] {
  const calls = call.in(evidence)
  if (calls.length === 0)
    return [absent(USAGES[id]![0]!.finding, 'The target file declares no price for any of these usages.')]
  const findings = calls.map((exchange) => {
    const asked = USAGES[id]!.find((each) => each.row === exchange.details.row)!
    const entry = servedBy(evidence, exchange)
    const reading = recordExchange(evidence, exchange)
    const see = refs(exchange, reading, entry)
    if (!entry || exchange.status !== 200)
      return doubt(
        asked.finding,
        `"${stepText(exchange)}" was not answered, so that nothing was billed.`,
        see,
      )
    const spoken = providerDialectOf(entry).name
    if (!(asked.dialects?.includes(spoken) ?? true))
      return absent(asked.finding, `${where(entry)} was called in ${spoken}, which has no word for it.`, see)
    if (usageIn(readSent(entry)) === null)
      return absent(
        asked.finding,
        `${where(entry)} reported no usage of "${stepText(exchange)}", for which the gateway did not ask.`,
        see,
      )
    const record = recordIn(target, reading, requestIdOf(target, exchange) ?? '')
    if (record === undefined)
      return doubt(asked.finding, `"${stepText(exchange)}" has no record, which is for LOG-01 to judge.`, see)
    const usd = asked.usd ?? usdOf(asked, costOf(target).prices[where(entry)])
    if (usd === null)
      return absent(asked.finding, `The target file declares no such price of ${where(entry)}.`, see)
    return compare(target, exchange, asked, usd, record, see)
  })
  const judged = findings.filter((each) => !each.absent)
  return judged.length > 0 ? judged : findings
}

/** Maximum relative error of a cost that floating-point numbers may cause. */
const FLOAT_ERROR = 1e-9

function compare(
  target: Target,
  exchange: Exchange,
  { finding: name }: UsageRow,
  usd: number,
  record: unknown,
  see: readonly string[],
): Finding {
  const { per_usd, rounding } = costOf(target)
  const said = at(record, target.observability.log!.fields.cost)
  const expected = usd * per_usd
  const ok = Math.abs(amountIn(said) - expected) <= Math.max(rounding, expected * FLOAT_ERROR)
  const shown = Number(expected.toPrecision(12))
  return finding(
    name,
    ok,
    `the cost on record of "${stepText(exchange)}"`,
    { expected: String(shown), actual: said === undefined || said === null ? 'nothing' : String(said) },
    see,
  )
}

/** Returns the cost of a row at a price, US dollars; null if the price does not cover the row. */
export function usdOf(
  { bill = {}, by, needs, over }: UsageRow,
  price: ModelPrice | undefined,
): number | null {
  if (!price || (over !== undefined && !price.over)) return null
  const rates = over ? price.over! : price
  let usd = 0
  for (const kind of TOKENS) {
    const tokens = bill[kind] ?? 0
    if (tokens > 0 && rates[kind] === undefined) return null
    usd += (tokens * (rates[kind] ?? 0)) / 1e6
  }
  for (const [axis, name] of [...Object.entries(by), ...Object.entries(needs)]) {
    const factor = price[axis as keyof typeof by]?.[name]
    if (factor === undefined) return null
    if (axis in by) usd *= factor
  }
  const { web_search: searches = 0 } = bill
  if (searches > 0 && price.web_search === undefined) return null
  return usd + searches * (price.web_search ?? 0)
}

/** Checks of usages that only the Messages dialect has. */
const OF_MESSAGES = {
  dialect: 'messages',
  needs: ['messages', 'cost', 'record'],
} as const

for (const id of Object.keys(USAGES))
  check(id, {
    needs: ['cost', 'record'],
    ...(['COST-04', 'COST-06'].includes(id) && OF_MESSAGES),
    timeout: 120_000,
    exercise: (session) => makeCalls(session, id),
    judge: (judging) => judgeCosts(judging, id),
  })

const handedOver = step<{ stream: boolean; served: string }>('call')

/** Dearer models that answer instead of the requested one. */
const DEARER = {
  chat: 'gpt-5.5',
  responses: 'gpt-5.5',
  messages: 'claude-opus-5-5',
  gemini: 'gemini-2.5-pro',
  interactions: 'gemini-2.5-pro',
} as const
const WHOLE_USAGE = USAGES['COST-01']![0]!

check('COST-08', {
  needs: ['cost', 'record'],
  timeout: 120_000,
  async exercise(session) {
    const served = DEARER[session.dialect.name as keyof typeof DEARER]
    const exchanges = await Promise.all(
      [false, true].map((stream) =>
        session.chat(handedOver.with({ stream, served }), {
          stream,
          body: stream && session.dialect.name === 'chat' ? INCLUDE : {},
          script: [
            {
              say: { text: 'It is known.' },
              usage: WHOLE_USAGE.usage,
              served,
            },
          ],
        }),
      ),
    )
    for (const exchange of exchanges) await session.record(exchange)
  },
  judge({ evidence, target }) {
    const { prices, per_usd, rounding } = costOf(target)
    return handedOver.in(evidence).map((exchange) => {
      const name = 'answered-model-is-billed'
      const entry = servedBy(evidence, exchange)
      const reading = recordExchange(evidence, exchange)
      const see = refs(exchange, reading, entry)
      const record = recordIn(target, reading, requestIdOf(target, exchange) ?? '')
      if (!entry || exchange.status !== 200 || record === undefined)
        return doubt(name, `"${stepText(exchange)}" was not answered, or has no record.`, see)
      const asked = usdOf(WHOLE_USAGE, prices[where(entry)])
      if (asked === null) return absent(name, `The target file declares no price of ${where(entry)}.`, see)
      const [provider = ''] = where(entry).split('/')
      const dearer = exchange.details.served
      const billed = usdOf(WHOLE_USAGE, prices[`${provider}/${dearer}`])
      const said = at(record, target.observability.log!.fields.cost)
      const amount = amountIn(said)
      const isNear = (usd: number) =>
        Math.abs(amount - usd * per_usd) <= Math.max(rounding, usd * per_usd * FLOAT_ERROR)
      const ok = Number.isNaN(amount) || (billed === null ? amount > 0 && !isNear(asked) : isNear(billed))
      return finding(
        name,
        ok,
        `the cost on record of "${stepText(exchange)}", which ${dearer} answered`,
        {
          expected: billed === null ? 'none, or that of the model that answered' : String(billed * per_usd),
          actual: said === undefined || said === null ? 'nothing' : String(said),
        },
        see,
      )
    })
  },
})

const atOnce = step<{ n: number }>('call')

/** Number of concurrent calls. */
const CALLS = 60
/** Time in ms for which the provider holds each call, so that all calls are open at the same time. */
const HELD_MS = 1_000
/** Usage within the request's limits, so that a gateway can compute the maximum cost of a call in advance. */
const PLAIN = USAGES['COST-01']![0]!

check('BUDGET-01', {
  needs: ['cost', 'budget', 'variant:budget'],
  timeout: 120_000,
  async exercise(session) {
    await session.another('budget')
    await Promise.all(
      Array.from({ length: CALLS }, (_, n) =>
        session.chat(atOnce.with({ n }), {
          body: session.limit(PLAIN.usage.output),
          prompt: 'word '.repeat(PLAIN.usage.input),
          script: [{ wait: HELD_MS, say: { text: 'It is known.' }, usage: PLAIN.usage, times: 'every' }],
          timeout: 60_000,
        }),
      ),
    )
    await session.drain()
  },
  judge({ evidence, target }) {
    const { usd: budget, calls_beyond } = target.capabilities.budget!
    const { prices } = target.observability.log!.cost!
    const calls = atOnce.in(evidence)
    const served = calls.flatMap((exchange) => servedBy(evidence, exchange) ?? [])
    const spendable = finding(
      'budget-can-be-spent',
      served.length > 0,
      `calls of ${CALLS} at once with a budget of $${budget} that it let through`,
      { expected: 'at least one', actual: String(served.length) },
      refs(...calls.slice(0, 3)),
    )
    if (served.length === 0) return [spendable]
    const costs = served.map((entry) => usdOf(PLAIN, prices[where(entry)]))
    const usd = costs.find((each) => each !== null)
    if (usd == null || costs.includes(null))
      return [doubt('budget-holds', 'The cost of the calls that went out is not known.', refs(...calls))]
    if (usd * CALLS <= budget + calls_beyond * usd)
      return { 'budget-holds': { doubt: `The budget of $${budget} pays for all ${CALLS} calls.` } }
    const spent = served.length * usd
    return [
      {
        'budget-holds': [
          spent <= budget + calls_beyond * usd + 1e-9,
          `what ${CALLS} calls at once with a budget of $${budget} have cost`,
          `no more than $${Number((budget + calls_beyond * usd).toPrecision(6))}, ${calls_beyond} calls beyond the budget`,
          `$${Number(spent.toPrecision(6))} for ${served.length} calls`,
          refs(...served),
        ],
      },
      spendable,
    ]
  },
})

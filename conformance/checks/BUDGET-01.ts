// BUDGET-01: Simultaneous calls exceed a budget by no more calls than the gateway's documentation says.
import { refs, servedBy, where } from '../dialects/lookup.ts'
import { step } from '../evidence/step.ts'
import { type Check, doubt, finding } from '../runner/check.ts'
import { USAGES, usdOf } from './cost.ts'

const call = step<{ n: number }>('call')

/** Number of concurrent calls. */
const CALLS = 60
/** Time in ms for which the provider holds each call, so that all calls are open at the same time. */
const HELD_MS = 1_000
/** Usage within the request's limits, so that a gateway can compute the maximum cost of a call in advance. */
const PLAIN = USAGES['COST-01']![0]!

export const budgetHolds = {
  id: 'BUDGET-01',
  needs: ['cost', 'budget', 'variant:budget'],
  timeout: 120_000,
  async exercise(session) {
    await session.another('budget')
    await Promise.all(
      Array.from({ length: CALLS }, (_, n) =>
        session.chat(call.with({ n }), {
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
    const calls = call.in(evidence)
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
      return [doubt('budget-holds', `The budget of $${budget} pays for all ${CALLS} calls.`)]
    const spent = served.length * usd
    return [
      finding(
        'budget-holds',
        spent <= budget + calls_beyond * usd + 1e-9,
        `what ${CALLS} calls at once with a budget of $${budget} have cost`,
        {
          expected: `no more than $${Number((budget + calls_beyond * usd).toPrecision(6))}, ${calls_beyond} calls beyond the budget`,
          actual: `$${Number(spent.toPrecision(6))} for ${served.length} calls`,
        },
        refs(...served),
      ),
      spendable,
    ]
  },
} satisfies Check

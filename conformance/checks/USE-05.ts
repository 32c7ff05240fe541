// USE-05: Cached and reasoning tokens are recorded separately, priced at their own rates, and counted once.

import { refs, servedBy } from '../dialects/lookup.ts'
import { readSent } from '../dialects/registry.ts'
import { at } from '../evidence/reading.ts'
import { step } from '../evidence/step.ts'
import { type Check, finding } from '../runner/check.ts'
import { pairs, recordAfter } from './use.ts'

const call = step<{ scenario: string }>('call')

/**
 * Prices in US dollars per million tokens. If the price depends on the length of a request, these are the
 * prices for short requests such as these calls.
 */
type Rate = number | { readonly base: number }
type Rates = Readonly<Record<string, Rate | undefined>>

const rateIn = (rate: Rate | undefined): number | undefined => (typeof rate === 'object' ? rate.base : rate)

export const tokenKinds = {
  id: 'USE-05',
  async exercise(session) {
    for (const scenario of ['usage-cached', 'reasoning'])
      for (const stream of [false, true])
        await recordAfter(session, call.with({ scenario }), { stream, script: [{ scenario }] })
  },
  judge: ({ evidence }) =>
    pairs(evidence, call.in(evidence)).map(({ exchange, reading, record }) => {
      const entry = servedBy(evidence, exchange)
      const usage = readSent(entry).usage.at(-1)
      const cached = at(usage, '/prompt_tokens_details/cached_tokens')
      const reasoning = at(usage, '/completion_tokens_details/reasoning_tokens')
      const input = at(usage, '/prompt_tokens') as number
      const output = at(usage, '/completion_tokens') as number
      const kept =
        at(record, '/tokens/cached_input') === cached && at(record, '/tokens/reasoning') === reasoning
      const rates = at(record, '/price/rates') as Rates | undefined
      const fresh = input - (cached as number)
      const expected = rates
        ? (fresh * rateIn(rates.input_mtok)! +
            (cached as number) * (rateIn(rates.cache_read_mtok) ?? rateIn(rates.input_mtok)!) +
            output * rateIn(rates.output_mtok)!) /
          1e6
        : Number.NaN
      const cost = at(record, '/cost_usd') as number
      const priced = Math.abs(cost - expected) < 1e-12
      return finding(
        'kinds-are-kept-apart',
        kept && priced,
        `tokens by kind and cost on record after ${exchange.details.scenario}`,
        {
          expected: `cached ${cached}, reasoning ${reasoning}, cost by its own price ${expected}`,
          actual: `cached ${at(record, '/tokens/cached_input')}, reasoning ${at(record, '/tokens/reasoning')}, cost ${cost}`,
        },
        refs(exchange, reading, entry),
      )
    }),
} satisfies Check

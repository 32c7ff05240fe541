// Must-fail gateways for the checks of COST and BUDGET.
import type { MustFail } from '../gateway.ts'
import { callIn, changeJson } from '../gateway.ts'
import type { GatewayHooks } from '../wire.ts'

/** Returns hooks that change the configuration, such as a price. */
const configured = (...changes: readonly (readonly [from: string, to: string])[]): GatewayHooks => ({
  config: (text) =>
    // Each variant of the configuration has only some of the prices.
    changes.reduce((changed, [from, to]) => changed.replaceAll(from, to), text),
})

/** Returns hooks that change the cost in each record when it is read. */
const recorded = (
  // biome-ignore lint/suspicious/noExplicitAny: foreign JSON
  change: (cost: number, record: Record<string, any>) => number | null,
): GatewayHooks => ({
  body: (body, { path }) =>
    path.startsWith('/api/usage/request-logs/')
      ? changeJson(body, (json) =>
          typeof json.cost_usd === 'number' ? { ...json, cost_usd: change(json.cost_usd, json) } : json,
        )
      : body,
})

/** Returns hooks that replace a part of every provider's answer. */
const overheard = (from: RegExp, to: string): GatewayHooks => ({
  upstream: {
    responseStart({ headers }) {
      delete headers['content-length']
    },
    chunk: (bytes) => Buffer.from(bytes.toString('latin1').replace(from, to), 'latin1'),
  },
})

export const mustFail = {
  'price-of-last-year': {
    what: 'Output is charged at an outdated price.',
    caughtBy: ['COST-01/tokens-times-prices'],
    hooks: configured(['output: 2,', 'output: 2.5,']),
  },
  'rounds-costs-unsaid': {
    what: 'Recorded costs are rounded to hundredths of a dollar, although the target file does not declare this.',
    caughtBy: ['COST-01/tokens-times-prices'],
    hooks: recorded((cost) => Math.round(cost * 100) / 100),
  },
  'costs-in-cents-unsaid': {
    what: 'Recorded costs are in cents, but the target file declares US dollars.',
    caughtBy: ['COST-01/tokens-times-prices'],
    hooks: recorded((cost) => cost * 100),
  },
  'adds-the-reasoning': {
    what: 'Reasoning tokens are counted a second time in addition to the output that includes them.',
    caughtBy: ['COST-01/reasoning-is-output'],
    hooks: recorded((cost, { tokens }) => cost + (2 * (tokens?.reasoning ?? 0)) / 1e6),
  },
  'cached-at-the-full-price': {
    what: 'Cached input is charged at the price of ordinary input.',
    caughtBy: ['COST-02/cached-input'],
    hooks: configured(['cached_input: 0.025', 'cached_input: 0.25']),
  },
  'written-at-the-price-of-input': {
    what: 'Input that is written to a cache is charged at the price of ordinary input.',
    caughtBy: ['COST-02@messages/written-input'],
    hooks: configured(['cache_write: 2.5', 'cache_write: 2']),
  },
  'an-hour-costs-five-minutes': {
    what: 'Input that is cached for an hour is charged at the price for five minutes.',
    caughtBy: ['COST-02@messages/written-for-an-hour'],
    hooks: configured(['cache_write_1h: 4', 'cache_write_1h: 2.5']),
  },
  'ignores-the-tier': {
    what: 'The gateway uses the same price for all tiers.',
    caughtBy: ['COST-03/tier'],
    hooks: configured(['{ flex: 0.5, priority: 1.8 }', '{ flex: 1, priority: 1 }']),
  },
  'bills-the-tier-that-was-asked-for': {
    what: 'A call that requested the priority tier is charged at that tier’s price although it was served at the default tier.',
    caughtBy: ['COST-03/tier-as-served'],
    hooks: overheard(/"service_tier":"default"/g, '"service_tier":"priority"'),
  },
  'ignores-the-speed': {
    what: 'The gateway uses the usual price for fast mode.',
    caughtBy: ['COST-03@messages/speed'],
    hooks: configured(['fast: 2', 'fast: 1']),
  },
  'ignores-the-region': {
    what: 'The gateway uses the same price for all regions.',
    caughtBy: ['COST-03@messages/region'],
    hooks: configured(['us: 1.1', 'us: 1']),
  },
  'forgets-the-searches': {
    what: "The gateway records no cost for the provider's searches.",
    caughtBy: ['COST-04/searches'],
    hooks: configured(['web_search: 0.01', 'web_search: 0']),
  },
  'knows-no-long-inputs': {
    what: 'The gateway uses the usual price for long inputs.',
    caughtBy: ['COST-05/long-inputs'],
    hooks: configured(['tokens: 200000', 'tokens: 2000000']),
  },
  'forgets-the-compaction': {
    what: 'The cost includes only the top-level counts in the usage.',
    caughtBy: ['COST-06/compaction'],
    hooks: overheard(/"iterations":\[[^\]]*\]/g, '"iterations":[]'),
  },
  'knows-better-than-the-provider': {
    what: 'The gateway ignores the cost that the provider reports.',
    caughtBy: ['COST-07/providers-figure'],
    hooks: overheard(/"cost":/g, '"c0st":'),
  },
  'counts-a-budget-late': {
    what: 'Calls in progress do not count towards a budget.',
    caughtBy: ['BUDGET-01/budget-holds'],
    hooks: configured(['budget: { usd: 0.0125, per: day }', 'budget: { usd: 1, per: day }']),
  },
  'budget-lets-nothing-through': {
    what: 'Every call with a key that has a budget is refused.',
    caughtBy: ['BUDGET-01/budget-can-be-spent'],
    hooks: {
      request(wanted) {
        if (!JSON.stringify(callIn(wanted)?.messages ?? '').includes('word word word')) return
        const body = JSON.stringify({
          error: { message: 'spent', type: 'insufficient_quota', code: 'budget' },
        })
        return { status: 429, headers: { 'content-type': 'application/json' }, body }
      },
    },
  },
} satisfies Record<string, MustFail>

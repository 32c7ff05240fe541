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
    what: 'Output is priced at what it cost before.',
    caughtBy: ['COST-01/tokens-times-prices'],
    hooks: configured(['output: 2,', 'output: 2.5,']),
  },
  'rounds-costs-unsaid': {
    what: 'Costs on record are rounded to hundredths of a dollar, and its target file does not say so.',
    caughtBy: ['COST-01/tokens-times-prices'],
    hooks: recorded((cost) => Math.round(cost * 100) / 100),
  },
  'costs-in-cents-unsaid': {
    what: 'Costs on record are in cents, where the target file says US dollars.',
    caughtBy: ['COST-01/tokens-times-prices'],
    hooks: recorded((cost) => cost * 100),
  },
  'adds-the-reasoning': {
    what: 'Reasoning is added to the output that already includes it.',
    caughtBy: ['COST-01/reasoning-is-output'],
    hooks: recorded((cost, { tokens }) => cost + (2 * (tokens?.reasoning ?? 0)) / 1e6),
  },
  'cached-at-the-full-price': {
    what: 'Cached input is priced like any other.',
    caughtBy: ['COST-02/cached-input'],
    hooks: configured(['cached_input: 0.025', 'cached_input: 0.25']),
  },
  'written-at-the-price-of-input': {
    what: 'Input that is written to a cache is priced like any other.',
    caughtBy: ['COST-02@messages/written-input'],
    hooks: configured(['cache_write: 2.5', 'cache_write: 2']),
  },
  'an-hour-costs-five-minutes': {
    what: 'Input that is written for an hour is priced as if for five minutes.',
    caughtBy: ['COST-02@messages/written-for-an-hour'],
    hooks: configured(['cache_write_1h: 4', 'cache_write_1h: 2.5']),
  },
  'ignores-the-tier': {
    what: 'All tiers have the same price.',
    caughtBy: ['COST-03/tier'],
    hooks: configured(['{ flex: 0.5, priority: 1.8 }', '{ flex: 1, priority: 1 }']),
  },
  'bills-the-tier-that-was-asked-for': {
    what: 'A call that asked for priority and was served at default is priced as priority.',
    caughtBy: ['COST-03/tier-as-served'],
    hooks: overheard(/"service_tier":"default"/g, '"service_tier":"priority"'),
  },
  'ignores-the-speed': {
    what: 'Fast mode has the usual price.',
    caughtBy: ['COST-03@messages/speed'],
    hooks: configured(['fast: 2', 'fast: 1']),
  },
  'ignores-the-region': {
    what: 'All regions have the same price.',
    caughtBy: ['COST-03@messages/region'],
    hooks: configured(['us: 1.1', 'us: 1']),
  },
  'forgets-the-searches': {
    what: "The provider's searches cost nothing.",
    caughtBy: ['COST-04/searches'],
    hooks: configured(['web_search: 0.01', 'web_search: 0']),
  },
  'knows-no-long-inputs': {
    what: 'A long input has the usual price.',
    caughtBy: ['COST-05/long-inputs'],
    hooks: configured(['tokens: 200000', 'tokens: 2000000']),
  },
  'forgets-the-compaction': {
    what: 'Only the counts at the top of the usage are priced.',
    caughtBy: ['COST-06/compaction'],
    hooks: overheard(/"iterations":\[[^\]]*\]/g, '"iterations":[]'),
  },
  'knows-better-than-the-provider': {
    what: "The provider's own figure is not read.",
    caughtBy: ['COST-07/providers-figure'],
    hooks: overheard(/"cost":/g, '"c0st":'),
  },
  'counts-a-budget-late': {
    what: 'Calls that are open do not count towards a budget.',
    caughtBy: ['BUDGET-01/budget-holds'],
    hooks: configured(['budget: { usd: 0.0125, per: day }', 'budget: { usd: 1, per: day }']),
  },
  'budget-lets-nothing-through': {
    what: 'A key with a budget is refused from its first call on.',
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

// GET /api/routes: every route with its targets. A target has its intended and actual share of the calls, its
// cooldown, and its cost. Calls to a direct id, without a route, are listed separately. GET /api/analytics/auto-routing:
// totals of routing results, without single requests or sessions (LOG-13).
import { z } from 'zod'
import type { Config } from '../config/load.ts'
import { timeOfId } from '../core/call.ts'
import type { ReadEndpoint } from '../http/endpoint.ts'
import { createRouter, type Router } from '../routing/router.ts'
import { compileRules } from '../routing/rules.ts'
import { chance } from '../shared/chance.ts'
import type { TargetUsage } from '../store/reads.ts'
import type { ReadContext } from './context.ts'
import { ownKey, readsOf, scope, spanAnswer, spanOf, spanQuery } from './query.ts'
import * as schemas from './schemas.ts'

const query = z.strictObject({ ...spanQuery, ...scope })

const target = schemas.usage.extend({
  provider: z.string(),
  model: z.string(),
  share: schemas.share.describe('of the calls of the route in this span'),
})

const response = z.strictObject({
  window: schemas.span,
  routes: z.array(
    z.strictObject({
      name: z.string(),
      description: z.string(),
      strategy: z.string(),
      sticky: z.enum(['session', 'prefix']).nullable(),
      rules: z.array(z.strictObject({ when: z.string(), use: z.string() })),
      calls: schemas.count,
      targets: z.array(
        target.extend({
          tier: z.string().nullable(),
          weight: z.number().nullable().describe('with the strategy `weighted`'),
          wanted: z
            .number()
            .min(0)
            .max(1)
            .describe('the share of plain calls without a session that it gets while every target is ready'),
          now: z.number().min(0).max(1).describe('the same in the current state'),
          state: z.enum(['ready', 'cooling']),
          cooling_until: schemas.time.nullable(),
        }),
      ),
    }),
  ),
  direct: z.array(target),
})

export const routes = {
  path: '/api/routes',
  summary: 'every route with its targets, their state, and their intended and actual shares; `?window=`',
  query,
  response,
  async answer({ scope, ...asked }, { caller, requestId }, context) {
    const { config, router } = context
    const now = timeOfId(requestId)
    const span = spanOf(asked, now)
    const used = await readsOf({ scope }, context).targets(span, ownKey(caller))
    const ideal = createRouter(config, { now: () => now, random: chance.number })
    return {
      window: spanAnswer(span),
      routes: Object.keys(config.routes).map((name) => routeOf(name, config, router, ideal, used)),
      direct: used.filter(({ route }) => route === null).map(withShare(used, null)),
    }
  },
} satisfies ReadEndpoint<ReadContext, typeof query, typeof response>

/** `ideal`: a router whose targets are all ready. */
function routeOf(
  name: string,
  config: Config,
  router: Pick<Router, 'resolve'>,
  ideal: Pick<Router, 'resolve'>,
  used: readonly TargetUsage[],
) {
  const { description, strategy, sticky, rules, targets } = config.routes[name]!
  const wanted = ideal.resolve(name)!.candidates
  const its = used.filter(({ route }) => route === name)
  const share = withShare(used, name)
  return {
    name,
    description,
    strategy,
    sticky: sticky ?? null,
    rules: compileRules(rules).map(({ label }, index) => ({
      when: label.replace(/^rule \d+: /, ''),
      use: rules[index]!.use.target ?? `tier ${rules[index]!.use.tier}`,
    })),
    calls: its.reduce((sum, { calls }) => sum + calls, 0),
    targets: router.resolve(name)!.candidates.map((candidate, index) => {
      const { provider, model, tier, probability, state, cooling_until } = candidate
      const usage = its.find((each) => each.provider === provider && each.model === model)
      return {
        ...share(usage ?? { route: name, provider, model, ...NOTHING }),
        tier,
        weight: strategy === 'weighted' ? targets[index]!.weight : null,
        wanted: wanted[index]!.probability,
        now: probability,
        state,
        cooling_until,
      }
    }),
  }
}

const NOTHING = {
  calls: 0,
  failed: 0,
  aborted: 0,
  fell_back: 0,
  input_tokens: 0,
  output_tokens: 0,
  cached_input_tokens: 0,
  moved: 0,
  cache_lost: 0,
  cost_usd: 0,
  cost_is_minimum: false,
  cost_is_estimated: false,
  calls_without_cost: 0,
  flat_usd: 0,
  saved_usd: 0,
}

function withShare(used: readonly TargetUsage[], of: string | null) {
  const all = used.filter(({ route }) => route === of).reduce((sum, { calls }) => sum + calls, 0)
  return ({ route: _, ...usage }: TargetUsage) => ({ ...usage, share: all === 0 ? null : usage.calls / all })
}

const share = z.strictObject({ calls: schemas.count, share: schemas.share })

const autoResponse = z.strictObject({
  window: schemas.span,
  total_calls: schemas.count,
  strategy_distribution: z.record(z.string(), share),
  tier_distribution: z.record(z.string(), share),
  top_providers: z.array(
    share.extend({ provider: z.string(), p50_latency_ms: z.number().nonnegative().nullable() }).strict(),
  ),
  fallback: share,
})

export const autoRouting = {
  path: '/api/analytics/auto-routing',
  summary:
    'shares of strategies, tiers and providers, and the share of calls that fell back; `?window=24h|7d|30d`',
  query,
  response: autoResponse,
  async answer({ scope, ...asked }, { caller, requestId }, context) {
    const span = spanOf(asked, timeOfId(requestId))
    return { window: spanAnswer(span), ...(await readsOf({ scope }, context).routing(span, ownKey(caller))) }
  },
} satisfies ReadEndpoint<ReadContext, typeof query, typeof autoResponse>

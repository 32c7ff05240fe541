// Routes. GET /api/routes: every route with its targets. A target has its intended and actual share of the calls, its
// cooldown, and its cost. Calls to a direct id, without a route, are listed separately. GET /api/analytics/auto-routing:
// totals of routing results, without single requests or sessions (LOG-13). GET /api/cloud/model/resolve: the current route
// of a hypothetical call, without making it (PURE-04). GET /api/usage/what-if: the cost of past calls on another route.

import { z } from 'zod'
import type { Config } from '../config/load.ts'
import { DIALECT_NAMES } from '../config/schema.ts'
import { timeOfId } from '../core/call.ts'
import { GatewayError } from '../core/errors.ts'
import { endsIn } from '../core/findings.ts'
import { PLAIN } from '../core/request-traits.ts'
import type { ReadEndpoint } from '../http/endpoint.ts'
import { createRouter, type Router } from '../routing/router.ts'
import { compileRules } from '../routing/rules.ts'
import { repriceAll } from '../routing/what-if.ts'
import { chance } from '../shared/chance.ts'
import { clock } from '../shared/clock.ts'
import type { TargetUsage } from '../store/reads.ts'
import type { ReadContext } from './context.ts'
import { invalid, ownKey, readsOf, scope, spanAnswer, spanOf, spanQuery } from './query.ts'
import * as schemas from './schemas.ts'
import { costEstimate, time } from './schemas.ts'

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

const flag = z
  .enum(['true', 'false'])
  .transform((text) => text === 'true')
  .optional()

const resolveQuery = z.strictObject({
  model: z.string('a logical model id or provider/model is required').min(1),
  tools: flag.describe('the call offers tools'),
  images: flag.describe('the call holds an image'),
  effort: z.string().min(1).optional().describe('the reasoning effort that it asks for'),
  input_tokens: z.coerce.number('expected a number').int().min(0).optional(),
  dialect: z.enum(DIALECT_NAMES).optional().describe('the wire format of the client'),
  session_id: z.string().min(1).optional().describe('the session of the calling key that it belongs to'),
})

const resolveResponse = z.strictObject({
  model: z.string(),
  route: z.string().nullable(),
  strategy: z.string(),
  tier: z.string().nullable(),
  provider: z.string(),
  resolved_model: z.string(),
  deterministic: z.boolean(),
  depends_on: z.array(z.enum(['session', 'shape', 'dialect', 'load'])),
  estimate: costEstimate.nullable().describe('what it would cost, with the strategy `cheapest`'),
  candidates: z.array(
    z.strictObject({
      provider: z.string(),
      model: z.string(),
      tier: z.string().nullable(),
      probability: z.number().min(0).max(1),
      state: z.enum(['ready', 'cooling']),
      cooling_until: time.nullable(),
      reason: z.string().nullable(),
      ends_on: z.iso
        .date()
        .nullable()
        .describe(
          'The day on which the model ends or has ended, from 60 days before, if its provider announced it.',
        ),
      losses: z
        .record(z.string(), z.array(z.string()))
        .describe(
          'Dialects of clients that are translated for this target, and what a few words of plain text would lose.',
        ),
    }),
  ),
})

/** Parameters can describe the call; the default is a few words of plain text. */
export const resolve = {
  path: '/api/cloud/model/resolve',
  summary:
    'shows where a call would go now, without making it; `?model=`, and properties of the call: `tools`, `images`, `effort`, `input_tokens`, `dialect`, `session_id`',
  query: resolveQuery,
  response: resolveResponse,
  answer(
    { model, dialect, session_id: sessionId, tools, images, effort, input_tokens: inputTokens },
    { caller },
    { router, plainLosses, config },
  ) {
    const said = [tools, images, effort, inputTokens].some((each) => each !== undefined)
    const traits = {
      tools: tools ?? PLAIN.tools,
      images: images ?? PLAIN.images,
      effort: effort ?? PLAIN.effort,
      inputTokens: inputTokens ?? PLAIN.inputTokens,
    }
    const session = sessionId === undefined ? undefined : { sessionId, keyName: caller.name }
    const resolution = router.resolve(model, said ? traits : undefined, dialect, { session, inputTokens })
    if (!resolution)
      throw new GatewayError(
        'model_not_found',
        `No route and no provider/model is called ${JSON.stringify(model)}.`,
        { param: 'model' },
      )
    const endOf = endsIn(config)
    const candidates = resolution.candidates.map((each) => ({
      ...each,
      ends_on: endOf(`${each.provider}/${each.model}`, clock.now())?.date ?? null,
      losses: plainLosses({ provider: each.provider, model: each.model }),
    }))
    return { ...resolution, candidates }
  },
} satisfies ReadEndpoint<ReadContext, typeof resolveQuery, typeof resolveResponse>

/** Number of calls in one read. Repricing them takes a few ms of the main thread. */
const CALLS_PER_READ = 250

const whatIfQuery = z.strictObject({
  ...spanQuery,
  route: z.string().min(1).describe('A route, or `provider/model`.'),
  direct: z
    .enum(['true', 'false'])
    .default('false')
    .describe('true: also reprice calls that named a fixed model.'),
})

const cost = {
  cost_usd: schemas.usd,
  cost_is_minimum: z.boolean(),
  flat_usd: schemas.usd.describe('part for which a subscription pays'),
}
const { count } = schemas

const whatIfResponse = z.strictObject({
  window: schemas.span,
  route: z.string(),
  calls: count.describe('calls that were repriced'),
  recorded: z.strictObject(cost).describe('cost of these calls as on record'),
  repriced: z
    .strictObject({ ...cost, low_usd: schemas.usd, high_usd: schemas.usd })
    .describe('estimated cost; from `low_usd` to `high_usd` if other models write less or more'),
  targets: z.array(
    z.strictObject({
      target: z.string(),
      calls: count,
      cost_usd: schemas.usd,
      input_tokens: count,
      cached_input_tokens: count,
      cache_write_tokens: count,
      output_tokens: count,
    }),
  ),
  outputs: z
    .array(
      z.strictObject({
        from: z.string(),
        to: z.string(),
        calls: count,
        low: z.number().nonnegative(),
        high: z.number().nonnegative(),
        is_known: z.boolean().describe('true: from the output per call on record; false: assumed'),
      }),
    )
    .describe('output of another model, relative to the model that answered'),
  left_out: z.array(z.strictObject({ reason: z.string(), calls: count, text: z.string() })),
  assumed: z.array(z.string()),
  statement: z.string(),
})

export type WhatIfAnswer = z.output<typeof whatIfResponse>

/** Maximum concurrent estimates of all keys. Each key has one. */
const MAX_ESTIMATES = 4

/** Names of the keys whose estimates are running, by the record that they read. */
const running = new WeakMap<ReadContext['instanceCalls'], (string | null)[]>()

/** Reads the record in parts, so that a million calls take no memory and other reads are answered in between. */
export const whatIf = {
  path: '/api/usage/what-if',
  summary:
    'estimated cost of the calls on record on another route; `?route=`, `?window=24h|7d|30d`, `direct=true`',
  query: whatIfQuery,
  response: whatIfResponse,
  async answer({ route, direct, ...asked }, { caller, request, requestId }, { whatIf, instanceCalls }) {
    const span = spanOf(asked, timeOfId(requestId))
    const repricing = whatIf(route, direct === 'true')
    if (!repricing) throw invalid('route', 'there is no such route, and no such provider')
    const names = running.get(instanceCalls) ?? []
    const hasOwn = names.includes(caller.name)
    if (hasOwn || names.length >= MAX_ESTIMATES)
      throw new GatewayError(
        'overloaded',
        `${hasOwn ? 'An estimate of this key is' : 'Four estimates are'} already running. Try again when one has finished.`,
        { retryAfter: 10 },
      )
    names.push(caller.name)
    running.set(instanceCalls, names)
    try {
      const read = (after: string) => instanceCalls.past(span, after, CALLS_PER_READ, ownKey(caller))
      await repriceAll(repricing, read, CALLS_PER_READ, () => request.destroyed)
      return { window: spanAnswer(span), route, ...repricing.result() }
    } finally {
      names.splice(names.indexOf(caller.name), 1)
    }
  },
} satisfies ReadEndpoint<ReadContext, typeof whatIfQuery, typeof whatIfResponse>

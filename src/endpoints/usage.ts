// Usage and cost of calls. GET /api/usage/logs lists each call, with fewer fields than the request log. GET
// /api/usage/history returns the calls of a span in buckets of time. GET /api/sessions lists sessions with their sums,
// newest first; /{id} is one session with its usage by model.

import { z } from 'zod'
import { PURPOSES, timeOfId } from '../core/call.ts'
import { GatewayError } from '../core/errors.ts'
import { isZone } from '../core/zone.ts'
import { JsonText, type ReadEndpoint } from '../http/endpoint.ts'
import { USAGE_KEYS } from '../store/reads.ts'
import type { ReadContext } from './context.ts'
import {
  callList,
  invalid,
  listArguments,
  ownKey,
  pageQuery,
  readsOf,
  scope,
  scopeOnly,
  spanAnswer,
  spanOf,
  spanQuery,
} from './query.ts'
import * as schemas from './schemas.ts'

const item = schemas.callRecord.pick({
  id: true,
  created_at: true,
  requested_model: true,
  resolved_provider: true,
  resolved_model: true,
  session_id: true,
  tokens: true,
  cost_usd: true,
  cost_missing: true,
  cache: true,
})

const usageLogsResponse = schemas.pageOf(item)

export const usageLogs = {
  path: '/api/usage/logs',
  summary: 'tokens and cost of each call; with the filters and pages of the request log',
  query: callList,
  response: usageLogsResponse,
  async answer(query, { caller }, context) {
    const [filter, page] = listArguments(query, caller)
    return new JsonText(await readsOf(query, context).listText(filter, page, FIELDS))
  },
} satisfies ReadEndpoint<ReadContext, typeof callList, typeof usageLogsResponse>

const FIELDS = Object.keys(item.shape) as (keyof typeof item.shape)[]

const BUCKETS = { '1m': 60_000, '5m': 300_000, '1h': 3_600_000, '1d': 86_400_000, all: null }
const MAX_BUCKETS = 1_500

const query = z.strictObject({
  ...spanQuery,
  ...scope,
  bucket: z.enum(Object.keys(BUCKETS) as (keyof typeof BUCKETS)[]).default('1h'),
  zone: z
    .string()
    .refine(isZone, 'expected a time zone such as Europe/Berlin')
    .optional()
    .describe('zone whose days are the buckets of `1d`; default: UTC'),
  by: z
    .enum(USAGE_KEYS)
    .optional()
    .describe('`session`, `client` and `answered` (the model that answered) read each call of the span'),
})

const usageHistoryResponse = z.strictObject({
  window: schemas.span,
  totals: schemas.usage,
  buckets: z.array(
    schemas.usage.extend({ start: schemas.time, by: z.string().nullable().optional() }).strict(),
  ),
})

export const usageHistory = {
  path: '/api/usage/history',
  summary: 'usage in time buckets; `?window=24h|7d|30d` or `since`, `until`; `bucket=1m|5m|1h|1d|all`, `by=`',
  query,
  response: usageHistoryResponse,
  async answer({ bucket, zone, by, scope, ...asked }, { caller, requestId }, context) {
    const span = spanOf(asked, timeOfId(requestId))
    const ms = BUCKETS[bucket]
    if (zone !== undefined && bucket !== '1d') throw invalid('zone', 'only buckets of a day have a zone')
    if (ms !== null && (span.until - span.since) / ms > MAX_BUCKETS)
      throw invalid('bucket', `more than ${MAX_BUCKETS} buckets; ask for larger ones or a shorter time`)
    const division = ms === null ? 'whole' : zone === undefined ? { ms } : { dayIn: zone }
    return {
      window: spanAnswer(span),
      ...(await readsOf({ scope }, context).history(span, division, by, ownKey(caller))),
    }
  },
} satisfies ReadEndpoint<ReadContext, typeof query, typeof usageHistoryResponse>

const sessionsQuery = z.strictObject({
  ...pageQuery,
  ...scope,
  order: z
    .enum(['newest', 'cost'])
    .default('newest')
    .describe('cost: the most expensive ones; a single page'),
})

const sessionsResponse = schemas.pageOf(schemas.session)

export const sessions = {
  path: '/api/sessions',
  summary:
    'sessions, newest first, with their calls, tokens and cost; in pages; `order=cost` for the most expensive',
  query: sessionsQuery,
  response: sessionsResponse,
  async answer({ order, scope, ...page }, { caller }, context) {
    const calls = readsOf({ scope }, context)
    if (order === 'cost') {
      if (page.cursor !== undefined) throw invalid('cursor', 'order=cost has a single page')
      const data = await calls.dearest(page.limit, ownKey(caller))
      return { object: 'list', data, has_more: false, next_cursor: null }
    }
    return { object: 'list', ...(await calls.sessions(page, ownKey(caller))) }
  },
} satisfies ReadEndpoint<ReadContext, typeof sessionsQuery, typeof sessionsResponse>

const sessionResponse = schemas.session.extend({
  by_model: z.array(
    z.strictObject({
      provider: z.string(),
      model: z.string(),
      answered: z.string().nullable().describe('the model that answered, if another than `model`'),
      ...schemas.sessionAmounts,
    }),
  ),
  parts: z
    .array(
      z.strictObject({
        agent_id: z.string().nullable().describe('null: the session itself'),
        purpose: z.enum(PURPOSES).nullable(),
        first_seen: schemas.time,
        last_seen: schemas.time,
        ...schemas.sessionAmounts,
      }),
    )
    .describe('its agents, and what the calls of each agent were for'),
})

export const sessionRead = {
  path: '/api/sessions/*',
  summary: 'one session, with its usage of each model',
  query: scopeOnly,
  response: sessionResponse,
  async answer(query, { rest, caller }, context) {
    const found = await readsOf(query, context).session(rest, ownKey(caller))
    if (!found) throw new GatewayError('not_found', 'There is no session with this id, or it is not yours.')
    return found
  },
} satisfies ReadEndpoint<ReadContext, typeof scopeOnly, typeof sessionResponse>

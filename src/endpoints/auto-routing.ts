// GET /api/analytics/auto-routing: totals of routing results, without single requests or sessions (LOG-13).
import { z } from 'zod'
import { timeOfId } from '../core/call.ts'
import type { ReadEndpoint } from '../http/endpoint.ts'
import type { ReadContext } from './context.ts'
import { ownKey, readsOf, scope, spanAnswer, spanOf, spanQuery } from './query.ts'
import * as schemas from './schemas.ts'

const query = z.strictObject({ ...spanQuery, ...scope })
const share = z.strictObject({ calls: schemas.count, share: schemas.share })

const response = z.strictObject({
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
  response,
  async answer({ scope, ...asked }, { caller, requestId }, context) {
    const span = spanOf(asked, timeOfId(requestId))
    return { window: spanAnswer(span), ...(await readsOf({ scope }, context).routing(span, ownKey(caller))) }
  },
} satisfies ReadEndpoint<ReadContext, typeof query, typeof response>

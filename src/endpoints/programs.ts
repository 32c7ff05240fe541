// GET /api/usage/programs: the programs that made the calls of a span of time, most calls first.
import { z } from 'zod'
import { timeOfId } from '../core/call.ts'
import type { ReadEndpoint } from '../http/endpoint.ts'
import type { ReadContext } from './context.ts'
import { ownKey, readsOf, scope, spanAnswer, spanOf, spanQuery } from './query.ts'
import * as schemas from './schemas.ts'

const query = z.strictObject({ ...spanQuery, ...scope })

const response = z.strictObject({
  window: schemas.span,
  data: z.array(z.strictObject({ client: z.string().nullable(), calls: schemas.count })),
})

export const programs = {
  path: '/api/usage/programs',
  summary: 'the programs that made calls, by their `User-Agent`, most calls first; `?window=24h|7d|30d`',
  query,
  response,
  async answer({ scope, ...asked }, { caller, requestId }, context) {
    const span = spanOf(asked, timeOfId(requestId))
    const data = await readsOf({ scope }, context).programs(span, ownKey(caller))
    return { window: spanAnswer(span), data }
  },
} satisfies ReadEndpoint<ReadContext, typeof query, typeof response>

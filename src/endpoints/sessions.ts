// GET /api/sessions: the sessions, newest first, with what their calls add up to; and one of them, with what it used
// of each model.
import { z } from 'zod'
import { GatewayError } from '../errors.ts'
import type { ReadEndpoint } from '../http/endpoint.ts'
import type { ReadContext } from './context.ts'
import { ownKey, page, readsOf, scope, scopeOnly } from './query.ts'
import * as schemas from './schemas.ts'

const query = z.strictObject({ ...page, ...scope })

const sessionsResponse = schemas.page(schemas.session)

export const sessions = {
  path: '/api/sessions',
  summary: 'sessions, newest first, with their calls, tokens and cost; in pages',
  query,
  response: sessionsResponse,
  async answer({ scope, ...page }, { caller }, context) {
    return { object: 'list', ...(await readsOf({ scope }, context).sessions(page, ownKey(caller))) }
  },
} satisfies ReadEndpoint<ReadContext, typeof query, typeof sessionsResponse>

const sessionResponse = schemas.session.extend({
  by_model: z.array(
    z.strictObject({
      provider: z.string(),
      model: z.string(),
      calls: schemas.count,
      failed: schemas.count,
      tokens: schemas.tokenSums,
      cost_usd: schemas.usd.nullable(),
    }),
  ),
})

export const session = {
  path: '/api/sessions/*',
  summary: 'one session, with what it used of each model',
  query: scopeOnly,
  response: sessionResponse,
  async answer(query, { rest, caller }, context) {
    const found = await readsOf(query, context).session(rest, ownKey(caller))
    if (!found) throw new GatewayError('not_found', 'There is no session with this id, or it is not yours.')
    return found
  },
} satisfies ReadEndpoint<ReadContext, typeof scopeOnly, typeof sessionResponse>

// GET /api/sessions: the sessions with their sums, newest first, and a single session with its usage by
// model.
import { z } from 'zod'
import { PURPOSES } from '../core/call.ts'
import { GatewayError } from '../core/errors.ts'
import type { ReadEndpoint } from '../http/endpoint.ts'
import type { ReadContext } from './context.ts'
import { invalid, ownKey, pageQuery, readsOf, scope, scopeOnly } from './query.ts'
import * as schemas from './schemas.ts'

const query = z.strictObject({
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
  query,
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
} satisfies ReadEndpoint<ReadContext, typeof query, typeof sessionsResponse>

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

// GET /api/sessions/{id}: one session, and what it used of each model.
import { z } from 'zod'
import { GatewayError } from '../errors.ts'
import type { ReadEndpoint } from '../http/endpoint.ts'
import type { ReadContext } from './context.ts'
import { ownKey } from './query.ts'
import * as schemas from './schemas.ts'

export const session = {
  path: '/api/sessions/*',
  summary: 'one session, with what it used of each model',
  query: z.strictObject({}),
  response: schemas.session.extend({
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
  }),
  async answer(_query, { rest, caller }, { calls }) {
    const found = await calls.session(rest, ownKey(caller))
    if (!found) throw new GatewayError('not_found', 'There is no session with this id, or it is not yours.')
    return found
  },
} satisfies ReadEndpoint<ReadContext>

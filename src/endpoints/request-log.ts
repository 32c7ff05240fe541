// GET /api/usage/request-logs/{id}: one call with all its attempts.
import { z } from 'zod'
import { GatewayError } from '../errors.ts'
import type { ReadEndpoint } from '../http/endpoint.ts'
import type { ReadContext } from './context.ts'
import { ownKey } from './query.ts'
import { attempt, callRecord } from './schemas.ts'

export const requestLog = {
  path: '/api/usage/request-logs/*',
  summary: 'one call with all its attempts',
  query: z.strictObject({}),
  response: callRecord.extend({
    attempt_log: z.array(attempt),
    artifact: z.strictObject({ available: z.boolean(), bytes: z.int().nonnegative() }),
  }),
  async answer(_query, { rest, caller }, { calls }) {
    const found = await calls.find(rest, ownKey(caller))
    if (!found)
      throw new GatewayError('not_found', 'There is no call with this id in the log, or it is not yours.')
    return found
  },
} satisfies ReadEndpoint<ReadContext>

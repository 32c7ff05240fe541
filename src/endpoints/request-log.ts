// GET /api/usage/request-logs/{id}: one call with all its attempts.
import { z } from 'zod'
import { GatewayError } from '../errors.ts'
import type { ReadEndpoint } from '../http/endpoint.ts'
import type { ReadHouse } from './house.ts'

export const requestLog = {
  path: '/api/usage/request-logs/*',
  summary: 'one call with all its attempts',
  query: z.strictObject({}),
  answer(_query, { rest, caller }, { calls }) {
    const found = calls.find(rest, caller.role === 'client' ? (caller.name ?? undefined) : undefined)
    if (!found)
      throw new GatewayError('not_found', 'There is no call with this id in the log, or it is not yours.')
    return found
  },
} satisfies ReadEndpoint<ReadHouse>

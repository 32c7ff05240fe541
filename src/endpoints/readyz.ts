// Calls can be taken: the configuration is valid (or we would not run) and the store can be written to.
import { z } from 'zod'
import { GatewayError } from '../errors.ts'
import type { ReadEndpoint } from '../http/endpoint.ts'
import type { ReadHouse } from './house.ts'

export const readyz = {
  path: '/readyz',
  summary: 'ready: calls can be recorded',
  open: true,
  query: z.strictObject({}),
  answer(_query, _admitted, { storeFailure }) {
    if (storeFailure() !== null)
      throw new GatewayError('log_unavailable', 'The record cannot be written; the gateway log says why.')
    return { status: 'ready' }
  },
} satisfies ReadEndpoint<ReadHouse>

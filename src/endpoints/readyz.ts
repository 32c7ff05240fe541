// Calls can be taken: the store can be written to. A file that was changed into an invalid one takes the gateway
// away from nobody, because the configuration before it stays in force; it is told here, its errors in the log.
import { z } from 'zod'
import { GatewayError } from '../errors.ts'
import type { ReadEndpoint } from '../http/endpoint.ts'
import type { ReadHouse } from './house.ts'

export const readyz = {
  path: '/readyz',
  summary: 'ready: calls can be recorded; says whether the configuration in force is the one in the file',
  open: true,
  query: z.strictObject({}),
  response: z.strictObject({
    status: z.literal('ready'),
    configuration: z.strictObject({
      state: z
        .enum(['current', 'rejected'])
        .describe('rejected: the file is invalid, an earlier configuration is in force'),
      since: z.iso.datetime(),
    }),
  }),
  answer(_query, _admitted, { storeFailure, configuration }) {
    if (storeFailure() !== null)
      throw new GatewayError('log_unavailable', 'The record cannot be written; the gateway log says why.')
    const { state, since } = configuration()
    return { status: 'ready', configuration: { state, since: new Date(since).toISOString() } }
  },
} satisfies ReadEndpoint<ReadHouse>

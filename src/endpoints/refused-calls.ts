// GET /api/usage/refused-calls: the newest calls that were refused before they had a record, with the
// reasons.
import { z } from 'zod'
import type { ReadEndpoint } from '../http/endpoint.ts'
import type { ReadContext } from './context.ts'
import { ownKey, pageQuery } from './query.ts'
import { time } from './schemas.ts'

const query = z.strictObject({ limit: pageQuery.limit })

const response = z.strictObject({
  object: z.literal('list'),
  data: z.array(
    z.strictObject({
      id: z.uuid().describe('`request_id` of the answer; there is no record of this id'),
      created_at: time,
      key_name: z.string().nullable(),
      endpoint: z.string(),
      status: z.int(),
      code: z.string(),
      message: z.string().describe('the message that the client got'),
    }),
  ),
})

export const refusedCalls = {
  path: '/api/usage/refused-calls',
  summary:
    'the newest calls that were refused before they had a record (key, limits, body, model), with reasons',
  query,
  response,
  answer({ limit }, { caller }, { refusals }) {
    const data = refusals(ownKey(caller), limit).map(({ createdAt, keyName, ...rest }) => ({
      ...rest,
      created_at: new Date(createdAt).toISOString(),
      key_name: keyName,
    }))
    return { object: 'list', data }
  },
} satisfies ReadEndpoint<ReadContext, typeof query, typeof response>

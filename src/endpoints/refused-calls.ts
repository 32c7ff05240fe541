// GET /api/usage/refused-calls: the newest calls that were refused before they had a record, with the reasons. GET
// /api/models/refusals: parameters that providers have refused and that requests therefore leave out (FIT-03).
import { z } from 'zod'
import type { ReadEndpoint } from '../http/endpoint.ts'
import { learnedUntil } from '../models/learned.ts'
import type { ReadContext } from './context.ts'
import { noQuery, ownKey, pageQuery } from './query.ts'
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

const refusalsResponse = z.strictObject({
  data: z.array(
    z.strictObject({
      provider: z.string(),
      model: z.string(),
      parameter: z.string(),
      value: z.string().nullable().describe('JSON text of the refused value; null: any'),
      replaced: z.boolean().describe('something else is sent instead, as the provider asked'),
      learned_at: time,
      until: time.describe('when it is forgotten'),
    }),
  ),
})

export const learnedRefusals = {
  path: '/api/models/refusals',
  summary: 'parameters that providers refused, and that requests omit until the refusals are deleted',
  query: noQuery,
  response: refusalsResponse,
  answer: (_query, _admitted, { learned }) => ({
    data: learned().map(({ isReplaced = false, learned_at, ...refusal }) => ({
      ...refusal,
      replaced: isReplaced,
      learned_at,
      until: learnedUntil(learned_at),
    })),
  }),
} satisfies ReadEndpoint<ReadContext, typeof noQuery, typeof refusalsResponse>

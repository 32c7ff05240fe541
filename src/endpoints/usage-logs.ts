// GET /api/usage/logs: what each call used and cost; the request log with fewer fields.
import { z } from 'zod'
import type { ReadEndpoint } from '../http/endpoint.ts'
import type { ReadHouse } from './house.ts'
import { callList, listArguments } from './query.ts'
import { listOf, time, tokens, usd } from './shapes.ts'

const item = z.object({
  id: z.uuid(),
  created_at: time,
  requested_model: z.string(),
  resolved_provider: z.string(),
  resolved_model: z.string(),
  session_id: z.string().nullable(),
  tokens: tokens.extend({ source: z.enum(['reported', 'estimated']).nullable() }),
  cost_usd: usd,
  cache: z.enum(['HIT', 'MISS', 'BYPASS']),
})

export const usageLogs = {
  path: '/api/usage/logs',
  summary: 'tokens and cost of each call; filters and pages of the request log',
  query: callList,
  response: listOf(item),
  async answer(query, { caller }, { calls }) {
    const { data, ...page } = await calls.list(...listArguments(query, caller))
    return { object: 'list', data: data.map(usageOf), ...page }
  },
} satisfies ReadEndpoint<ReadHouse, typeof callList>

const FIELDS = Object.keys(item.shape)
const usageOf = (record: Readonly<Record<string, unknown>>) =>
  Object.fromEntries(FIELDS.map((field) => [field, record[field]]))

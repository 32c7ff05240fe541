// GET /api/usage/logs: what each call used and cost; the request log with fewer fields.
import type { ReadEndpoint } from '../http/endpoint.ts'
import type { ReadContext } from './context.ts'
import { callList, listArguments } from './query.ts'
import { callRecord, page } from './schemas.ts'

const item = callRecord.pick({
  id: true,
  created_at: true,
  requested_model: true,
  resolved_provider: true,
  resolved_model: true,
  session_id: true,
  tokens: true,
  cost_usd: true,
  cache: true,
})

export const usageLogs = {
  path: '/api/usage/logs',
  summary: 'tokens and cost of each call; filters and pages of the request log',
  query: callList,
  response: page(item),
  async answer(query, { caller }, { calls }) {
    const { data, ...rest } = await calls.list(...listArguments(query, caller))
    return { object: 'list', data: data.map(usageOf), ...rest }
  },
} satisfies ReadEndpoint<ReadContext, typeof callList>

const FIELDS = Object.keys(item.shape)
const usageOf = (record: Readonly<Record<string, unknown>>) =>
  Object.fromEntries(FIELDS.map((field) => [field, record[field]]))

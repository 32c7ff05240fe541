// GET /api/usage/request-logs: the request log, newest first, in pages that neither skip nor repeat a row.
import type { ReadEndpoint } from '../http/endpoint.ts'
import type { ReadContext } from './context.ts'
import { callList, listArguments } from './query.ts'
import { callRecord, page } from './schemas.ts'

export const requestLogs = {
  path: '/api/usage/request-logs',
  summary: 'the request log, newest first, with filters and pages',
  query: callList,
  response: page(callRecord),
  async answer(query, { caller }, { calls }) {
    return { object: 'list', ...(await calls.list(...listArguments(query, caller))) }
  },
} satisfies ReadEndpoint<ReadContext, typeof callList>

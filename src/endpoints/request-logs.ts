// GET /api/usage/request-logs: the request log, newest first, in pages that neither skip nor repeat a row.
import { z } from 'zod'
import { CALL_STATES } from '../call.ts'
import type { ReadEndpoint } from '../http/endpoint.ts'
import type { ReadHouse } from './house.ts'
import { callRecord, page } from './shapes.ts'

const text = z.string().min(1).optional()
const time = z.iso
  .datetime({ offset: true, error: 'expected a time such as 2026-11-21T07:00:00Z' })
  .transform((iso) => Date.parse(iso))
  .optional()

const query = z.strictObject({
  limit: z
    .string()
    .regex(/^\d{1,3}$/, 'expected a number')
    .transform(Number)
    .pipe(z.number().min(1).max(200))
    .default(50),
  cursor: z.uuid('not a cursor of this list').optional(),
  session_id: text,
  agent_id: text,
  requested_model: text,
  provider: text,
  model: text,
  route: text,
  strategy: text,
  tier: text,
  state: z.enum(CALL_STATES).optional(),
  status: z
    .union(
      [
        z.enum(['ok', 'error']),
        z
          .string()
          .regex(/^[1-5]\d\d$/)
          .transform(Number),
      ],
      'expected ok, error or an HTTP status',
    )
    .optional(),
  since: time,
  until: time,
})

export const requestLogs = {
  path: '/api/usage/request-logs',
  summary: 'the request log, newest first, with filters and pages',
  query,
  response: page(callRecord),
  answer({ limit, cursor, ...filter }, { caller }, { calls }) {
    const own = caller.role === 'client' ? { key_name: caller.name ?? undefined } : {}
    return { object: 'list', ...calls.list({ ...filter, ...own }, { limit, cursor }) }
  },
} satisfies ReadEndpoint<ReadHouse, typeof query>

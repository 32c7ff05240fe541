// The process is alive: no key, no Host guard, no database.
import { z } from 'zod'
import type { ReadEndpoint } from '../http/endpoint.ts'
import type { ReadContext } from './context.ts'

export const healthz = {
  path: '/healthz',
  summary: 'alive: no key, no database',
  open: true,
  query: z.strictObject({}),
  response: z.strictObject({ status: z.literal('ok') }),
  answer: () => ({ status: 'ok' }),
} satisfies ReadEndpoint<ReadContext>

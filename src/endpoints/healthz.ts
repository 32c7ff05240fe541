// Reports that the process is alive. Needs no key and no database, and accepts any Host.
import { z } from 'zod'
import type { ReadEndpoint } from '../http/endpoint.ts'
import type { ReadContext } from './context.ts'
import { noQuery } from './query.ts'

const response = z.strictObject({ status: z.literal('ok') })

export const healthz = {
  path: '/healthz',
  summary: 'shows that the process is alive; needs no key and no database',
  open: true,
  query: noQuery,
  response,
  answer: () => ({ status: 'ok' }),
} satisfies ReadEndpoint<ReadContext, typeof noQuery, typeof response>

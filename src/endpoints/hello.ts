// HEAD /api/hello: Claude Code sends this request before its first call, without a key, to check that a
// server is running.
import { z } from 'zod'
import type { ReadEndpoint } from '../http/endpoint.ts'
import type { ReadContext } from './context.ts'
import { noQuery } from './query.ts'

const response = z.strictObject({ message: z.literal('hello') })

export const hello = {
  path: '/api/hello',
  summary:
    'shows that a gateway is running; needs no key and no database; Claude Code requests it before its first call',
  open: true,
  query: noQuery,
  response,
  answer: () => ({ message: 'hello' }),
} satisfies ReadEndpoint<ReadContext, typeof noQuery, typeof response>

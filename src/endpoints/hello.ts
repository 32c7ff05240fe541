// HEAD /api/hello: what Claude Code asks before its first call, without a key, to learn that a server is there.
import { z } from 'zod'
import type { ReadEndpoint } from '../http/endpoint.ts'
import type { ReadContext } from './context.ts'
import { noQuery } from './query.ts'

const response = z.strictObject({ message: z.literal('hello') })

export const hello = {
  path: '/api/hello',
  summary:
    'answers that a gateway is there: needs no key and no database; Claude Code asks before its first call',
  open: true,
  query: noQuery,
  response,
  answer: () => ({ message: 'hello' }),
} satisfies ReadEndpoint<ReadContext, typeof noQuery, typeof response>

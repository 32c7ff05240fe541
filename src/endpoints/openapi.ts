// GET /openapi.json: the API as an OpenAPI 3.1 document.
import { z } from 'zod'
import type { ReadEndpoint } from '../http/endpoint.ts'
import type { ReadContext } from './context.ts'
import { noQuery } from './query.ts'

const response = z.looseObject({ openapi: z.literal('3.1.0'), info: z.looseObject({ version: z.string() }) })

export const openapi = {
  path: '/openapi.json',
  summary: 'this interface as an OpenAPI 3.1 document',
  query: noQuery,
  response,
  answer: (_query, _admitted, { openApi }) => openApi(),
} satisfies ReadEndpoint<ReadContext, typeof noQuery, typeof response>

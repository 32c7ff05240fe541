// GET /openapi.json: the interface as an OpenAPI 3.1 document.
import { z } from 'zod'
import type { ReadEndpoint } from '../http/endpoint.ts'
import type { ReadContext } from './context.ts'

export const openapi = {
  path: '/openapi.json',
  summary: 'this interface as an OpenAPI 3.1 document',
  query: z.strictObject({}),
  response: z.looseObject({ openapi: z.literal('3.1.0'), info: z.looseObject({ version: z.string() }) }),
  answer: (_query, _admitted, { openApi }) => openApi,
} satisfies ReadEndpoint<ReadContext>

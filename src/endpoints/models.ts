// GET /v1/models: the catalog in OpenAI's list format.
import { z } from 'zod'
import type { ReadEndpoint } from '../http/endpoint.ts'
import { catalog } from './catalog.ts'
import type { ReadContext } from './context.ts'
import { catalogEntry } from './schemas.ts'

export const models = {
  path: '/v1/models',
  summary: "the models and routes, in OpenAI's list format",
  // Clients send paging parameters along (`limit`); the list is short, so it is always whole.
  query: z.looseObject({}),
  response: z.strictObject({ object: z.literal('list'), data: z.array(catalogEntry) }),
  answer: (_query, _admitted, { config }) => ({ object: 'list', data: catalog(config) }),
} satisfies ReadEndpoint<ReadContext>

// The catalog in OpenAI's list format: GET /v1/models, and one entry of it, whose id may hold slashes, encoded or not.
import { z } from 'zod'
import { GatewayError } from '../errors.ts'
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

export const model = {
  path: '/v1/models/*',
  summary: 'one of them; the id may hold slashes, encoded or not',
  query: z.strictObject({}),
  response: catalogEntry,
  answer(_query, { rest }, { config }) {
    const found = catalog(config).find(({ id }) => id === rest)
    if (!found)
      throw new GatewayError('model_not_found', `The catalog has no model ${JSON.stringify(rest)}.`, {
        param: 'model',
      })
    return found
  },
} satisfies ReadEndpoint<ReadContext>

// The catalog in OpenAI's list format: GET /v1/models, and one entry of it, whose id may hold slashes, encoded or not.
import { z } from 'zod'
import { GatewayError } from '../errors.ts'
import type { ReadEndpoint } from '../http/endpoint.ts'
import { catalog } from './catalog.ts'
import type { ReadContext } from './context.ts'
import { noQuery } from './query.ts'
import { catalogEntry } from './schemas.ts'

// Clients send paging parameters along (`limit`); the list is short, so it is always whole.
const modelsQuery = z.looseObject({})
const modelsResponse = z.strictObject({ object: z.literal('list'), data: z.array(catalogEntry) })

export const models = {
  path: '/v1/models',
  summary: "the models and routes, in OpenAI's list format",
  query: modelsQuery,
  response: modelsResponse,
  answer: (_query, _admitted, { config }) => ({ object: 'list', data: catalog(config) }),
} satisfies ReadEndpoint<ReadContext, typeof modelsQuery, typeof modelsResponse>

export const model = {
  path: '/v1/models/*',
  summary: 'one of them; the id may hold slashes, encoded or not',
  query: noQuery,
  response: catalogEntry,
  answer(_query, { rest }, { config }) {
    const found = catalog(config).find(({ id }) => id === rest)
    if (!found)
      throw new GatewayError('model_not_found', `The catalog has no model ${JSON.stringify(rest)}.`, {
        param: 'model',
      })
    return found
  },
} satisfies ReadEndpoint<ReadContext, typeof noQuery, typeof catalogEntry>

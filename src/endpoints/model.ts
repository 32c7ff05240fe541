// GET /v1/models/{id}: one entry of the catalog; the id may hold slashes, encoded or not.
import { z } from 'zod'
import { GatewayError } from '../errors.ts'
import type { ReadEndpoint } from '../http/endpoint.ts'
import { catalog } from './catalog.ts'
import type { ReadContext } from './context.ts'
import { catalogEntry } from './schemas.ts'

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

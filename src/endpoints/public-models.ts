// GET /v1beta/models: what may be known outside, and nothing else (KEEP-05): no weights, tiers or prices.
import { z } from 'zod'
import type { ReadEndpoint } from '../http/endpoint.ts'
import { catalog } from './catalog.ts'
import type { ReadContext } from './context.ts'
import { noQuery } from './query.ts'

const response = z.strictObject({
  models: z.array(
    z.strictObject({
      name: z.string(),
      strategy: z.string().nullable(),
      model_ids: z.array(z.string()),
      providerId: z.string().nullable(),
      description: z.string(),
    }),
  ),
})

export const publicModels = {
  path: '/v1beta/models',
  summary: 'name, strategy, model ids, provider and description, and nothing else',
  query: noQuery,
  response,
  answer: (_query, _admitted, { config }) => ({
    models: catalog(config).map(({ id, type, owned_by }) => {
      const route = type === 'route' ? config.routes[id] : undefined
      return {
        name: id,
        strategy: route?.strategy ?? null,
        model_ids: route ? route.targets.map((target) => target.model) : [id],
        providerId: route ? null : owned_by,
        description: route?.description ?? '',
      }
    }),
  }),
} satisfies ReadEndpoint<ReadContext, typeof noQuery, typeof response>

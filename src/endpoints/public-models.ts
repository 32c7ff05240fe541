// GET /v1beta/models: only public facts about the models (KEEP-05), without weights, tiers or prices. A
// Google client receives them in Google's format, and can request a single entry by its name.
import { z } from 'zod'
import { GatewayError } from '../core/errors.ts'
import type { ReadEndpoint } from '../http/endpoint.ts'
import { catalog } from './catalog.ts'
import type { ReadContext } from './context.ts'
import { googleEntry, googleQuery, toGoogle, wantsGoogle } from './google-models.ts'

const query = z.strictObject(googleQuery)

const response = z.union([
  z.strictObject({
    models: z.array(
      z.strictObject({
        name: z.string(),
        strategy: z.string().nullable(),
        model_ids: z.array(z.string()),
        providerId: z.string().nullable(),
        description: z.string(),
      }),
    ),
  }),
  z.strictObject({ models: z.array(googleEntry) }),
])

export const publicModels = {
  path: '/v1beta/models',
  summary:
    "only the name, strategy, model ids, provider and description; in Google's format if a header of Google's clients is sent",
  keyParameter: 'key',
  query,
  response,
  answer(_query, admitted, context) {
    const { config } = context
    const entries = catalog(config)
    if (wantsGoogle(admitted)) return { models: entries.map(({ id }) => toGoogle(id, context)) }
    return {
      models: entries.map(({ id, type, owned_by }) => {
        const route = type === 'route' ? config.routes[id] : undefined
        return {
          name: id,
          strategy: route?.strategy ?? null,
          model_ids: route ? route.targets.map((target) => target.model) : [id],
          providerId: route ? null : owned_by,
          description: route?.description ?? '',
        }
      }),
    }
  },
} satisfies ReadEndpoint<ReadContext, typeof query, typeof response>

export const publicModel = {
  path: '/v1beta/models/*',
  summary: "one model or route in Google's format; the id may contain slashes, encoded or not",
  keyParameter: 'key',
  query,
  response: googleEntry,
  answer(_query, { rest }, context) {
    const found = catalog(context.config).find(({ id }) => id === rest)
    if (!found)
      throw new GatewayError('model_not_found', `The catalog has no model ${JSON.stringify(rest)}.`, {
        param: 'model',
      })
    return toGoogle(found.id, context)
  },
} satisfies ReadEndpoint<ReadContext, typeof query, typeof googleEntry>

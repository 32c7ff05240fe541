// The catalog in OpenAI's list format, in Anthropic's for a caller that sends `anthropic-version`, or in
// Google's for a client of Google's: GET /v1/models, and one entry, whose id may hold slashes, even encoded.
import { z } from 'zod'
import { GatewayError } from '../core/errors.ts'
import type { AdmittedRead, ReadEndpoint } from '../http/endpoint.ts'
import { catalog } from './catalog.ts'
import type { ReadContext } from './context.ts'
import { googleEntry, googleQuery, toGoogle, wantsGoogle } from './google-models.ts'
import { catalogEntry, time } from './schemas.ts'

// Clients send paging parameters (`limit`); the list is short, so it is always complete.
const modelsQuery = z.looseObject({})

const oneQuery = z.strictObject({ key: googleQuery.key })

const anthropicEntry = z.strictObject({
  type: z.literal('model'),
  id: z.string(),
  display_name: z.string(),
  created_at: time,
})
const id = z.string().nullable()
const modelsResponse = z.union([
  z.strictObject({ object: z.literal('list'), data: z.array(catalogEntry) }),
  z.strictObject({ models: z.array(googleEntry) }),
  z.strictObject({ data: z.array(anthropicEntry), has_more: z.literal(false), first_id: id, last_id: id }),
])
const modelResponse = z.union([catalogEntry, anthropicEntry, googleEntry])

const wantsAnthropic = ({ request }: AdmittedRead): boolean =>
  request.headers['anthropic-version'] !== undefined

const toAnthropic = ({ id, created }: z.output<typeof catalogEntry>) => ({
  type: 'model' as const,
  id,
  display_name: id,
  created_at: new Date(created * 1_000).toISOString(),
})

export const models = {
  path: '/v1/models',
  summary:
    "the models and routes, in OpenAI's list format; in Anthropic's with `anthropic-version`, in Google's with `x-goog-api-client` or `x-goog-api-key`",
  keyParameter: 'key',
  query: modelsQuery,
  response: modelsResponse,
  answer(_query, admitted, { config }) {
    const entries = catalog(config)
    if (wantsGoogle(admitted))
      return { models: entries.map(({ id }) => toGoogle(id, config.routes[id]?.description ?? '')) }
    if (!wantsAnthropic(admitted)) return { object: 'list' as const, data: entries }
    const data = entries.map(toAnthropic)
    return {
      data,
      has_more: false as const,
      first_id: data[0]?.id ?? null,
      last_id: data.at(-1)?.id ?? null,
    }
  },
} satisfies ReadEndpoint<ReadContext, typeof modelsQuery, typeof modelsResponse>

export const model = {
  path: '/v1/models/*',
  summary: 'one of them; the id may contain slashes, encoded or not',
  keyParameter: 'key',
  query: oneQuery,
  response: modelResponse,
  answer(_query, admitted, { config }) {
    const { rest } = admitted
    const found = catalog(config).find(({ id }) => id === rest)
    if (!found)
      throw new GatewayError('model_not_found', `The catalog has no model ${JSON.stringify(rest)}.`, {
        param: 'model',
      })
    if (wantsGoogle(admitted)) return toGoogle(found.id, config.routes[found.id]?.description ?? '')
    return wantsAnthropic(admitted) ? toAnthropic(found) : found
  },
} satisfies ReadEndpoint<ReadContext, typeof oneQuery, typeof modelResponse>

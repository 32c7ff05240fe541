// GET /v1/models, and single entries of the list. The id of an entry may contain slashes, even encoded. The
// catalog is in OpenAI's list format. A caller that sends `anthropic-version` receives Anthropic's format,
// and a Google client receives Google's.
import { z } from 'zod'
import { GatewayError } from '../core/errors.ts'
import type { AdmittedRead, ReadEndpoint } from '../http/endpoint.ts'
import { type CatalogEntry, catalog } from './catalog.ts'
import type { ReadContext } from './context.ts'
import { googleEntry, googleQuery, toGoogle, wantsGoogle } from './google-models.ts'
import { limitsOf, type ModelLimits } from './model-limits.ts'
import { catalogEntry, count, time } from './schemas.ts'

// Clients send paging parameters such as `limit`. The list is short, so it is always complete.
const modelsQuery = z.looseObject({ client_version: z.string().optional() })

const oneQuery = z.strictObject({ key: googleQuery.key })

const supported = z.strictObject({ supported: z.boolean() })

const anthropicEntry = z.strictObject({
  type: z.literal('model'),
  id: z.string(),
  display_name: z.string(),
  created_at: time,
  max_input_tokens: count.nullable(),
  max_tokens: count.nullable(),
  capabilities: z
    .strictObject({
      image_input: supported.optional(),
      effort: z.looseObject({ supported: z.boolean() }).optional(),
      thinking: z.strictObject({ supported: z.boolean(), types: z.record(z.string(), supported) }).optional(),
    })
    .nullable()
    .describe('as far as they are known'),
})
const id = z.string().nullable()
/**
 * Codex's own list, which it requests with its version if it has a ChatGPT login. An entry would replace
 * everything that Codex knows of a model, including its instructions and the form of its tools. An empty list
 * leaves all of that unchanged.
 */
const CODEX_LIST = z.strictObject({ models: z.tuple([]) })

const modelsResponse = z.union([
  z.strictObject({ object: z.literal('list'), data: z.array(catalogEntry) }),
  z.strictObject({ models: z.array(googleEntry) }),
  CODEX_LIST,
  z.strictObject({ data: z.array(anthropicEntry), has_more: z.literal(false), first_id: id, last_id: id }),
])
const modelResponse = z.union([catalogEntry, anthropicEntry, googleEntry])

const wantsAnthropic = ({ request }: AdmittedRead): boolean =>
  request.headers['anthropic-version'] !== undefined

type Known = Pick<ReadContext, 'config' | 'factsOf'>

const toOpenAi = (entry: CatalogEntry, { config, factsOf }: Known): z.output<typeof catalogEntry> => {
  const { context, output } = limitsOf(entry.id, config, factsOf)
  return {
    ...entry,
    ...(context !== null && { context_window: context }),
    ...(output !== null && { max_completion_tokens: output }),
  }
}

const toAnthropic = ({ id, created }: CatalogEntry, { config, factsOf }: Known) => {
  const limits = limitsOf(id, config, factsOf)
  return {
    type: 'model' as const,
    id,
    display_name: id,
    created_at: new Date(created * 1_000).toISOString(),
    max_input_tokens: limits.context,
    max_tokens: limits.output,
    capabilities: anthropicCapabilities(limits),
  }
}

/** Anthropic's types of thinking, by the gateway's names for them. */
const TYPES = {
  adaptive: 'adaptive',
  between_tools: 'between_tools',
  off: 'disabled',
  budget: 'enabled',
} as const

function anthropicCapabilities({ efforts, thinking, images }: ModelLimits) {
  if (efforts === null && thinking === null && images === null) return null
  const stated = (supported: boolean) => ({ supported })
  return {
    ...(images !== null && { image_input: stated(images) }),
    ...(efforts && {
      effort: {
        supported: efforts.length > 0,
        ...Object.fromEntries(LEVELS.map((level) => [level, stated(efforts.includes(level))])),
      },
    }),
    ...(thinking && {
      thinking: {
        supported: thinking.some((way) => way !== 'off'),
        types: Object.fromEntries(
          Object.entries(TYPES).map(([word, type]) => [
            type,
            stated(thinking.includes(word as keyof typeof TYPES)),
          ]),
        ),
      },
    }),
  }
}

/** Effort levels in Anthropic's list. */
const LEVELS = ['low', 'medium', 'high', 'xhigh', 'max'] as const

export const models = {
  path: '/v1/models',
  summary:
    "the models and routes in OpenAI's list format; in Anthropic's format with `anthropic-version`; in Google's format with `x-goog-api-client` or `x-goog-api-key`; an empty list in Codex's format with `?client_version=`",
  keyParameter: 'key',
  query: modelsQuery,
  response: modelsResponse,
  hasEtag: true,
  answer({ client_version }, admitted, context) {
    if (client_version !== undefined) return { models: [] as [] }
    const entries = catalog(context.config)
    if (wantsGoogle(admitted)) return { models: entries.map(({ id }) => toGoogle(id, context)) }
    if (!wantsAnthropic(admitted))
      return { object: 'list' as const, data: entries.map((entry) => toOpenAi(entry, context)) }
    const data = entries.map((entry) => toAnthropic(entry, context))
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
  summary: 'one model or route; the id may contain slashes, encoded or not',
  keyParameter: 'key',
  query: oneQuery,
  response: modelResponse,
  answer(_query, admitted, context) {
    const { rest } = admitted
    const found = catalog(context.config).find(({ id }) => id === rest)
    if (!found)
      throw new GatewayError('model_not_found', `The catalog has no model ${JSON.stringify(rest)}.`, {
        param: 'model',
      })
    if (wantsGoogle(admitted)) return toGoogle(found.id, context)
    return wantsAnthropic(admitted) ? toAnthropic(found, context) : toOpenAi(found, context)
  },
} satisfies ReadEndpoint<ReadContext, typeof oneQuery, typeof modelResponse>

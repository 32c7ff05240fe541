// Lists of the models and routes in the configuration, and single entries; an id may contain slashes, even encoded. Pure:
// the same configuration gives the same bytes, regardless of earlier calls (CAT-03). GET /v1/models is in OpenAI's format;
// in Anthropic's for a caller that sends `anthropic-version`, and in Google's for a client of Google. GET /v1beta/models
// has only public facts (KEEP-05), without weights, tiers or prices.

import { z } from 'zod'
import { type Config, configuredModels } from '../config/load.ts'
import { MODEL_TYPES } from '../config/schema.ts'
import { GatewayError } from '../core/errors.ts'
import type { AdmittedRead, ReadEndpoint } from '../http/endpoint.ts'
import type { Facts } from '../models/facts.ts'
import type { ReadContext } from './context.ts'
import { catalogEntry, count, time } from './schemas.ts'

// Clients send paging parameters such as `limit`. The list is short, so it is always complete.
const modelsQuery = z.looseObject({ client_version: z.string().optional() })

/** Parameters that a Google client sends. The list is short, so it is always complete. */
const googleQuery = {
  pageSize: z.string().optional().describe("Sent by Google's clients; the list is always complete."),
  pageToken: z.string().optional().describe("Sent by Google's clients; the list is always complete."),
  key: z.string().optional().describe("The gateway key, as Google's clients may send it."),
}

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

const googleEntry = z.strictObject({
  name: z.string(),
  displayName: z.string(),
  description: z.string(),
  supportedGenerationMethods: z.array(z.string()),
  inputTokenLimit: z.int().optional(),
  outputTokenLimit: z.int().optional(),
  thinking: z.boolean().optional(),
})

const modelsResponse = z.union([
  z.strictObject({ object: z.literal('list'), data: z.array(catalogEntry) }),
  z.strictObject({ models: z.array(googleEntry) }),
  CODEX_LIST,
  z.strictObject({ data: z.array(anthropicEntry), has_more: z.literal(false), first_id: id, last_id: id }),
])
const modelResponse = z.union([catalogEntry, anthropicEntry, googleEntry])

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
    const found = entryOf(admitted.rest, context)
    if (wantsGoogle(admitted)) return toGoogle(found.id, context)
    return wantsAnthropic(admitted) ? toAnthropic(found, context) : toOpenAi(found, context)
  },
} satisfies ReadEndpoint<ReadContext, typeof oneQuery, typeof modelResponse>

const publicQuery = z.strictObject(googleQuery)

const publicResponse = z.union([
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
  query: publicQuery,
  response: publicResponse,
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
} satisfies ReadEndpoint<ReadContext, typeof publicQuery, typeof publicResponse>

export const publicModel = {
  path: '/v1beta/models/*',
  summary: "one model or route in Google's format; the id may contain slashes, encoded or not",
  keyParameter: 'key',
  query: publicQuery,
  response: googleEntry,
  answer: (_query, { rest }, context) => toGoogle(entryOf(rest, context).id, context),
} satisfies ReadEndpoint<ReadContext, typeof publicQuery, typeof googleEntry>

type Known = Pick<ReadContext, 'config' | 'factsOf'>

/** An entry of OpenAI's model list, with its type. Its provider is `waybill` for a route. */
type CatalogEntry = z.output<typeof catalogEntry>

/** Returns routes first, then every model that a route or `models` names. A pattern contributes no model. */
export const catalog = (config: Config): CatalogEntry[] => [
  ...Object.keys(config.routes).map((id) => toEntry(id, 'waybill', 'route')),
  ...configuredModels(config).map((id) =>
    toEntry(id, id.slice(0, id.indexOf('/')), config.models[id]?.type ?? MODEL_TYPES[0]),
  ),
]

/** `created` is always 0: OpenAI's clients require a number, but a configuration has no creation date. */
const toEntry = (id: string, owned_by: string, type: CatalogEntry['type']): CatalogEntry => ({
  id,
  object: 'model',
  created: 0,
  owned_by,
  type,
})

/** Returns the entry of an id; throws if there is none. */
function entryOf(id: string, { config }: Known): CatalogEntry {
  const found = catalog(config).find((each) => each.id === id)
  if (found) return found
  throw new GatewayError('model_not_found', `The catalog has no model ${JSON.stringify(id)}.`, {
    param: 'model',
  })
}

interface ModelLimits {
  /**
   * Longest input, tokens. For a route, this is the longest window of its targets, because calls that are too
   * long for one target use other targets.
   */
  readonly context: number | null
  /** Largest output that may be requested, tokens. */
  readonly output: number | null
  readonly efforts: NonNullable<Facts['efforts']> | null
  readonly thinking: NonNullable<Facts['thinking']> | null
  readonly images: boolean | null
}

/** Returns the known limits of a route or of a model. */
function limitsOf(id: string, { config: { routes, models }, factsOf }: Known): ModelLimits {
  const targets = routes[id]?.targets.map(({ model }) => model) ?? [id]
  const facts = targets.map(factsOf)
  const contexts = known(facts.map(({ context }) => context))
  const outputs = known(facts.map(({ output }) => output))
  const images = known(targets.map((target) => models[target]?.capabilities?.images))
  return {
    context: contexts && Math.max(...contexts),
    output: outputs && Math.min(...outputs),
    efforts: common(facts.map(({ efforts }) => efforts)),
    thinking: common(facts.map(({ thinking }) => thinking)),
    images: images === null ? null : images.every(Boolean),
  }
}

/** Returns the values if there are some and all of them are known. */
const known = <Value>(values: readonly (Value | undefined)[]): readonly Value[] | null =>
  values.length > 0 && values.every((value) => value !== undefined) ? values : null

/** Returns the words that all lists contain, in the order of the first list; null if one list is unknown. */
function common<Word>(lists: readonly (readonly Word[] | undefined)[]): Word[] | null {
  const all = known(lists)
  return all && all[0]!.filter((word) => all.every((list) => list.includes(word)))
}

const wantsAnthropic = ({ request }: AdmittedRead): boolean =>
  request.headers['anthropic-version'] !== undefined

const toOpenAi = (entry: CatalogEntry, known: Known): CatalogEntry => {
  const { context, output } = limitsOf(entry.id, known)
  return {
    ...entry,
    ...(context !== null && { context_window: context }),
    ...(output !== null && { max_completion_tokens: output }),
  }
}

const toAnthropic = ({ id, created }: CatalogEntry, known: Known) => {
  const limits = limitsOf(id, known)
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

const wantsGoogle = ({ request: { headers }, query }: AdmittedRead): boolean =>
  headers['x-goog-api-client'] !== undefined ||
  headers['x-goog-api-key'] !== undefined ||
  new URLSearchParams(query).has('key')

const toGoogle = (id: string, known: Known) => {
  const { context, output, thinking } = limitsOf(id, known)
  return {
    name: `models/${id}`,
    displayName: id,
    description: known.config.routes[id]?.description ?? '',
    supportedGenerationMethods: ['generateContent', 'countTokens'],
    ...(context !== null && { inputTokenLimit: context }),
    ...(output !== null && { outputTokenLimit: output }),
    ...(thinking && { thinking: thinking.some((way) => way !== 'off') }),
  }
}

// Providers whose dialect is OpenAI's with small differences, and providers that only rerank.
import { z } from 'zod'
import {
  type Accent,
  modelList,
  openAiAccent,
  openAiChat,
  openAiChatFields,
  openAiEmbeddings,
  openAiRefusal,
  openAiWants,
} from '../dialects/openai-chat.ts'
import {
  bearer,
  type Endpoint,
  event,
  type MockProvider,
  type MockUsage,
  type ProviderRefusal,
} from '../provider.ts'
import { fitRerank } from '../recording/fit.ts'
import { chatConversation, conversation, pydanticFieldError } from '../schemas/refusals.ts'

// OpenRouter, a router to other providers: sends comments before the first token, always sends usage, and includes the
// upstream's own message in errors.

const PROCESSING = ': OPENROUTER PROCESSING\n\n'
const upstream = 'MockProviders'

/** Fields for the router itself. Its own tools have types other than `function`. */
const fields = openAiChatFields.extend({
  models: z.array(z.string()).optional(),
  plugins: z.array(z.looseObject({ id: z.string() })).optional(),
  provider: z.looseObject({}).optional(),
  reasoning: z.looseObject({}).nullish(),
  tools: z.array(z.looseObject({ type: z.string() })).optional(),
  transforms: z.array(z.string()).optional(),
  usage: z.looseObject({ include: z.boolean() }).optional(),
})

const body = fields.superRefine(conversation(chatConversation))

const accent: Accent = {
  ...openAiAccent,
  reasoning: 'reasoning',
  streamUsage: 'finish',
  streamType: 'text/event-stream',
  opening: [PROCESSING, PROCESSING],
  keepAlive: PROCESSING,
  usage: ({ input, output, cached, reasoning, cost = 0.0001 }) => ({
    prompt_tokens: input,
    completion_tokens: output,
    total_tokens: input + output,
    cost,
    is_byok: false,
    prompt_tokens_details: { cached_tokens: cached },
    completion_tokens_details: { reasoning_tokens: reasoning },
  }),
  also: () => ({ provider: upstream }),
}
const chat = openAiChat(accent, body)

export const openrouter = {
  name: 'openrouter',
  origin: 'https://openrouter.ai',
  basePaths: ['/api/v1'],
  endpoints: [
    {
      ...chat,
      speech: {
        ...chat.speech!,
        failure: (message) =>
          event({
            id: 'gen-mock-00000000',
            object: 'chat.completion.chunk',
            provider: upstream,
            error: { code: 502, message },
            choices: [{ index: 0, delta: { content: '' }, finish_reason: 'error' }],
          }),
      },
    },
    openAiEmbeddings,
    modelList,
  ],
  credential: bearer,
  refusal(kind, message) {
    const { status } = openAiRefusal(kind, message)
    const fromUpstream = kind === 'rate_limited' || kind === 'overloaded'
    const error = fromUpstream
      ? {
          message: 'Provider returned error',
          code: status,
          metadata: { raw: message, provider_name: upstream },
        }
      : { message, code: status }
    return { status, headers: {}, body: { error } }
  },
  unknownField: () => null,
} satisfies MockProvider

const STATUS = {
  bad_key: 401,
  invalid_request: 400,
  unknown_model: 404,
  unknown_path: 404,
  rate_limited: 429,
  overloaded: 503,
  server_error: 500,
} as const satisfies Record<ProviderRefusal, number>

// With and without `/v1` in the path; shows thoughts, and always reports usage.
const deepseekChat = openAiChat({
  ...openAiAccent,
  reasoning: 'reasoning_content',
  streamUsage: 'finish',
  usage: ({ input, output, cached, reasoning }) => ({
    prompt_tokens: input,
    completion_tokens: output,
    total_tokens: input + output,
    prompt_tokens_details: { cached_tokens: cached },
    ...(reasoning > 0 && { completion_tokens_details: { reasoning_tokens: reasoning } }),
    prompt_cache_hit_tokens: cached,
    prompt_cache_miss_tokens: input - cached,
  }),
})

export const deepseek = {
  name: 'deepseek',
  origin: 'https://api.deepseek.com',
  basePaths: ['/v1', ''],
  endpoints: [deepseekChat, modelList],
  credential: bearer,
  refusal(kind, message) {
    const { status, headers } = openAiRefusal(kind, message)
    const type = status === 401 ? 'authentication_error' : 'invalid_request_error'
    const code = status >= 500 ? 'server_error' : 'invalid_request_error'
    return {
      status,
      headers,
      body: { error: { message, type: status >= 500 ? code : type, param: null, code } },
    }
  },
  unknownField: () => null,
} satisfies MockProvider

const groqUsage = ({ input, output, reasoning, cached }: MockUsage) => ({
  queue_time: 0.02,
  prompt_tokens: input,
  prompt_time: 0.003,
  completion_tokens: output,
  completion_time: 0.05,
  total_tokens: input + output,
  total_time: 0.053,
  ...(cached > 0 && { prompt_tokens_details: { cached_tokens: cached } }),
  ...(reasoning > 0 && { completion_tokens_details: { reasoning_tokens: reasoning } }),
})

const groqChat = openAiChat({
  ...openAiAccent,
  reasoning: 'reasoning',
  usage: groqUsage,
  streamType: 'text/event-stream',
  also(where, said) {
    const id = 'req_mock'
    if (where === 'first') return { x_groq: { id } }
    if (where === 'finish') return { x_groq: { id, ...(said.usage && { usage: groqUsage(said.usage) }) } }
    return where === 'whole' ? { x_groq: { id }, service_tier: 'on_demand' } : {}
  },
})

export const groq = {
  name: 'groq',
  origin: 'https://api.groq.com',
  basePaths: ['/openai/v1'],
  endpoints: [groqChat, modelList],
  credential: bearer,
  refusal(kind, message) {
    const { body, ...refused } = openAiRefusal(kind, message)
    const { type, code } = (body as { error: { type: string; code: string | null } }).error
    return { ...refused, body: { error: { message, type, ...(code && { code }) } } }
  },
  unknownField: (name) => `property '${name}' is unsupported`,
} satisfies MockProvider

const xaiChat = openAiChat({
  ...openAiAccent,
  streamType: 'text/event-stream',
  usage: ({ input, output, cached, reasoning }) => ({
    prompt_tokens: input,
    completion_tokens: output - reasoning,
    total_tokens: input + output,
    prompt_tokens_details: { text_tokens: input, audio_tokens: 0, image_tokens: 0, cached_tokens: cached },
    completion_tokens_details: {
      reasoning_tokens: reasoning,
      audio_tokens: 0,
      accepted_prediction_tokens: 0,
      rejected_prediction_tokens: 0,
    },
    num_sources_used: 0,
    cost_in_usd_ticks: 0,
  }),
})

const XAI_REFUSALS = {
  bad_key: [400, 'invalid-argument'],
  invalid_request: [400, 'invalid-argument'],
  unknown_model: [400, 'invalid-argument'],
  unknown_path: [404, 'not-found'],
  rate_limited: [429, 'resource-exhausted'],
  overloaded: [503, 'unavailable'],
  server_error: [500, 'internal'],
} as const satisfies Record<ProviderRefusal, readonly [number, string]>

export const xai = {
  name: 'xai',
  origin: 'https://api.x.ai',
  basePaths: ['/v1'],
  endpoints: [xaiChat, modelList],
  credential: bearer,
  refusal(kind, message) {
    const [status, code] = XAI_REFUSALS[kind]
    return { status, headers: {}, body: { code, error: message } }
  },
  unknownField: () => null,
} satisfies MockProvider

const ollamaAccent: Accent = {
  ...openAiAccent,
  reasoning: 'reasoning',
  streamType: 'text/event-stream',
  usage: ({ input, output }) => ({
    prompt_tokens: input,
    completion_tokens: output,
    total_tokens: input + output,
  }),
  also: () => ({ system_fingerprint: 'fp_ollama' }),
}

const ollamaChat = openAiChat(ollamaAccent, openAiChatFields)

const typeOf = (status: number): string =>
  status === 400 ? 'invalid_request_error' : status === 404 ? 'not_found_error' : 'api_error'

export const ollama = {
  name: 'ollama',
  origin: 'http://localhost:11434',
  origins: /^http:\/\/(localhost|127\.0\.0\.1):11434$/,
  basePaths: ['/v1'],
  endpoints: [ollamaChat, openAiEmbeddings, modelList],
  credential: bearer,
  keyless: true,
  refusal(kind, message) {
    const status = STATUS[kind]
    return {
      status,
      headers: {},
      body: { error: { message, type: typeOf(status), param: null, code: null } },
    }
  },
  unknownField: () => null,
} satisfies MockProvider

/** A text, or an object with fields of its own. */
const rerankDocument = z.union([z.string(), z.looseObject({})])

/** Makes the endpoint. `own`: fields that only this provider has, or that it validates differently. */
const rerankEndpoint = (own: z.ZodRawShape): Endpoint => ({
  ...{ method: 'POST', name: 'rerank', wants: openAiWants, speech: null, fit: fitRerank },
  body: z.looseObject({
    model: z.string().min(1),
    query: z.string().min(1),
    documents: z.array(rerankDocument).min(1),
    top_n: z.int().min(1).nullish(),
    return_documents: z.boolean().nullish(),
    ...own,
  }),
})

const cohereRerank = rerankEndpoint({
  documents: z.array(rerankDocument).min(1).max(1000), // version 1 also accepts objects
  max_tokens_per_doc: z.int().min(1).nullish(),
  priority: z.int().min(0).max(999).nullish(),
  rank_fields: z.array(z.string()).nullish(),
})

export const cohere = {
  name: 'cohere',
  origin: 'https://api.cohere.com',
  basePaths: ['/v2', '/v1'],
  endpoints: [cohereRerank],
  credential: bearer,
  refusal: (kind, message) => ({ status: STATUS[kind], headers: {}, body: { id: 'mock', message } }),
  invalidField: (field, issue) =>
    `invalid request: ${field} ${issue.code === 'invalid_type' && issue.input === undefined ? 'must be provided' : 'is invalid'}`,
  unknownField: () => null,
} satisfies MockProvider

const jinaRerank = rerankEndpoint({ query: rerankDocument })

export const jina = {
  name: 'jina',
  origin: 'https://api.jina.ai',
  basePaths: ['/v1'],
  endpoints: [jinaRerank],
  credential: bearer,
  refusal: (kind, detail) => ({
    status: ['invalid_request', 'unknown_model'].includes(kind) ? 422 : STATUS[kind],
    headers: {},
    body: { detail },
  }),
  invalidField: (field, issue) => `[body -> ${field}] ${pydanticFieldError(issue)}`,
  unknownField: () => null,
} satisfies MockProvider

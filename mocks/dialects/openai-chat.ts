// OpenAI's chat dialect, which many providers share: the request, with the fields of the public API reference, the chunks of
// an answer, the errors. Differences between providers are in `Accent`. Names no provider.
import { z } from 'zod'
import {
  type Arrived,
  type Endpoint,
  event,
  type MockUsage,
  type ModelOutput,
  type ProviderRefusal,
  type RefusedRequest,
  type Speech,
  type ToolCall,
  type Wants,
} from '../provider.ts'
import { fitEmbeddings } from '../recording/fit.ts'
import { chatConversation, conversation } from '../schemas/refusals.ts'

const text = z.union([z.string(), z.array(z.looseObject({ type: z.string() })).min(1)])

const toolCall = z.looseObject({
  id: z.string(),
  type: z.enum(['function', 'custom']),
  function: z.looseObject({ name: z.string(), arguments: z.string() }).optional(),
})

const message = z.discriminatedUnion('role', [
  z.looseObject({ role: z.literal('developer'), content: text }),
  z.looseObject({ role: z.literal('system'), content: text }),
  z.looseObject({ role: z.literal('user'), content: text }),
  z.looseObject({
    role: z.literal('assistant'),
    content: text.nullish(),
    tool_calls: z.array(toolCall).optional(),
  }),
  z.looseObject({ role: z.literal('tool'), content: text, tool_call_id: z.string() }),
  z.looseObject({ role: z.literal('function'), content: z.string().nullable(), name: z.string() }),
])

const tool = z.looseObject({
  type: z.enum(['function', 'custom']),
  function: z
    .looseObject({ name: z.string().regex(/^[\w-]{1,64}$/), parameters: z.looseObject({}).optional() })
    .optional(),
})

/** Fields of `POST chat/completions`. Servers of open models accept any conversation with these fields. */
export const openAiChatFields = z.looseObject({
  model: z.string().min(1),
  messages: z.array(message).min(1),
  audio: z.looseObject({}).nullish(),
  frequency_penalty: z.number().min(-2).max(2).nullish(),
  function_call: z.union([z.string(), z.looseObject({ name: z.string() })]).optional(),
  functions: z.array(z.looseObject({ name: z.string() })).optional(),
  logit_bias: z.record(z.string(), z.number().min(-100).max(100)).nullish(),
  logprobs: z.boolean().nullish(),
  max_completion_tokens: z.int().positive().nullish(),
  max_tokens: z.int().positive().nullish(),
  metadata: z.record(z.string(), z.string()).nullish(),
  modalities: z.array(z.string()).nullish(),
  n: z.int().min(1).max(128).nullish(),
  parallel_tool_calls: z.boolean().optional(),
  prediction: z.looseObject({}).nullish(),
  presence_penalty: z.number().min(-2).max(2).nullish(),
  prompt_cache_key: z.string().optional(),
  prompt_cache_retention: z.string().nullish(),
  reasoning_effort: z.string().nullish(),
  response_format: z.looseObject({ type: z.string() }).optional(),
  safety_identifier: z.string().optional(),
  seed: z.number().nullish(),
  service_tier: z.string().nullish(),
  stop: z.union([z.string(), z.array(z.string())]).nullish(),
  store: z.boolean().nullish(),
  stream: z.boolean().nullish(),
  stream_options: z.looseObject({ include_usage: z.boolean().optional() }).nullish(),
  temperature: z.number().min(0).max(2).nullish(),
  tool_choice: z.union([z.string(), z.looseObject({ type: z.string() })]).optional(),
  tools: z.array(tool).optional(),
  top_logprobs: z.int().min(0).max(20).nullish(),
  top_p: z.number().min(0).max(1).nullish(),
  user: z.string().optional(),
  verbosity: z.string().nullish(),
  web_search_options: z.looseObject({}).optional(),
})

/** Body of `POST chat/completions`. */
const openAiChatBody = openAiChatFields.superRefine(conversation(chatConversation))

/** Differences of a provider from OpenAI. */
export interface Accent {
  /** Field that holds the thoughts; null if the provider hides them. */
  readonly reasoning: 'reasoning' | 'reasoning_content' | null
  /**
   * Place of the usage. `asked`: in its own chunk if `stream_options.include_usage` is set. `finish`: always,
   * with the finish reason.
   */
  readonly streamUsage: 'asked' | 'finish'
  usage(usage: MockUsage): object
  /** Returns the provider's additions to a whole answer or to a chunk of a stream. */
  also(where: 'whole' | 'first' | 'middle' | 'finish' | 'usage', said: ModelOutput): object
  /** Data that is sent before the first event. */
  readonly opening: readonly string[]
  readonly keepAlive: string
  readonly streamType: string
}

/** Formats OpenAI's usage, with cached and reasoning tokens in the details. */
const openAiUsage = ({ input, output, cached, reasoning }: MockUsage) => ({
  prompt_tokens: input,
  completion_tokens: output,
  total_tokens: input + output,
  prompt_tokens_details: { cached_tokens: cached },
  completion_tokens_details: { reasoning_tokens: reasoning },
})

export const openAiAccent: Accent = {
  reasoning: null,
  streamUsage: 'asked',
  usage: openAiUsage,
  also: () => ({}),
  opening: [],
  keepAlive: ': keep-alive\n\n',
  streamType: 'text/event-stream; charset=utf-8',
}

const DONE = event('[DONE]')
const created = 1_795_200_000

/** Returns `chat/completions` in a provider's variant. */
export function openAiSpeech(accent: Accent = openAiAccent): Speech {
  const base = (object: string, said: ModelOutput) => ({
    id: 'chatcmpl-mock-0000000000000000000',
    object,
    created,
    model: said.model,
    ...(said.usage?.tier !== undefined && { service_tier: said.usage.tier }),
  })
  const thoughts = (text: string) => (accent.reasoning && text ? { [accent.reasoning]: text } : {})

  return {
    dialect: 'chat',
    streamType: accent.streamType,
    keepAlive: accent.keepAlive,
    failure: (message) => event({ error: { message, type: 'server_error', param: null, code: null } }),
    isUsageOnly: (data) => usageOnly.safeParse(data).success,

    whole(said) {
      const message = {
        role: 'assistant',
        content: said.calls.length > 0 ? null : said.text.join(''),
        ...thoughts(said.reasoning.join('')),
        ...(said.calls.length > 0 && { tool_calls: said.calls.map(wholeCall) }),
      }
      return {
        ...base('chat.completion', said),
        choices: [{ index: 0, message, logprobs: null, finish_reason: said.finish }],
        ...(said.usage && { usage: accent.usage(said.usage) }),
        ...accent.also('whole', said),
      }
    },

    events(said, wants) {
      const chunk = (where: 'first' | 'middle' | 'finish', delta: object, more: object = {}) =>
        event({
          ...base('chat.completion.chunk', said),
          choices: [
            { index: 0, delta, logprobs: null, finish_reason: where === 'finish' ? said.finish : null },
          ],
          ...more,
          ...accent.also(where, said),
        })
      const usage = said.usage && { usage: accent.usage(said.usage) }
      const atFinish = accent.streamUsage === 'finish' ? usage : null
      const atEnd = accent.streamUsage === 'asked' && wants.usage ? usage : null
      return [
        ...accent.opening,
        chunk('first', { role: 'assistant', content: said.calls.length > 0 ? null : '' }),
        ...said.reasoning.map((text) => chunk('middle', thoughts(text))),
        ...said.text.map((content) => chunk('middle', { content })),
        ...said.calls.flatMap((call, index) =>
          callDeltas(call, index).map((tool_calls) => chunk('middle', { tool_calls })),
        ),
        chunk('finish', {}, atFinish ?? {}),
        ...(atEnd
          ? [
              event({
                ...base('chat.completion.chunk', said),
                choices: [],
                ...atEnd,
                ...accent.also('usage', said),
              }),
            ]
          : []),
        DONE,
      ]
    },
  }
}

const usageOnly = z.looseObject({ choices: z.array(z.unknown()).length(0), usage: z.looseObject({}) })

const wholeCall = ({ id, name, arguments: pieces }: ToolCall) => ({
  id,
  type: 'function',
  function: { name, arguments: pieces.join('') },
})

/** Returns the deltas of a call: the first delta has its name, and the other deltas have its arguments. */
const callDeltas = ({ id, name, arguments: pieces }: ToolCall, index: number) => [
  [{ index, id, type: 'function', function: { name, arguments: '' } }],
  ...pieces.map((piece) => [{ index, function: { arguments: piece } }]),
]

/** Fields that determine the answer; an invalid field counts as absent. */
const wantsSchema = z
  .object({
    model: z.string().nullable().catch(null),
    stream: z.boolean().catch(false),
    stream_options: z.object({ include_usage: z.boolean() }).catch({ include_usage: false }),
    tools: z.array(z.unknown()).catch([]),
    messages: z.array(z.object({ role: z.unknown() })).catch([]),
  })
  .catch({
    model: null,
    stream: false,
    stream_options: { include_usage: false },
    tools: [],
    messages: [],
  })

export function openAiWants({ json }: Pick<Arrived, 'json'>): Wants {
  const { model, stream, stream_options, tools, messages } = wantsSchema.parse(json)
  return {
    model,
    stream,
    usage: stream_options.include_usage,
    tools: tools.length > 0 && !messages.some(({ role }) => role === 'tool'),
  }
}

const nothing = (): Wants => ({ model: null, stream: false, usage: false, tools: false })

const embeddingsBody = z.looseObject({
  model: z.string().min(1),
  input: z.union([z.string().min(1), z.array(z.union([z.string(), z.int(), z.array(z.int())])).min(1)]),
  dimensions: z.int().positive().optional(),
  encoding_format: z.enum(['float', 'base64']).optional(),
  user: z.string().optional(),
})

/** Returns the chat endpoint of a provider with this dialect. */
export const openAiChat = (
  accent: Accent = openAiAccent,
  body: z.ZodObject = openAiChatBody,
  name = 'chat/completions',
): Endpoint => ({
  method: 'POST',
  name,
  body,
  wants: openAiWants,
  speech: openAiSpeech(accent),
})

export const openAiEmbeddings: Endpoint = {
  method: 'POST',
  name: 'embeddings',
  body: embeddingsBody,
  wants: openAiWants,
  speech: null,
  fit: fitEmbeddings,
}

export const modelList: Endpoint = {
  method: 'GET',
  name: 'models',
  body: null,
  wants: nothing,
  speech: null,
}

/** Status, type and code of OpenAI's errors. */
const REFUSALS = {
  bad_key: [401, 'invalid_request_error', 'invalid_api_key'],
  invalid_request: [400, 'invalid_request_error', null],
  unknown_model: [404, 'invalid_request_error', 'model_not_found'],
  unknown_path: [404, 'invalid_request_error', null],
  rate_limited: [429, 'requests', 'rate_limit_exceeded'],
  overloaded: [503, 'server_error', null],
  server_error: [500, 'server_error', null],
} as const satisfies Record<ProviderRefusal, readonly [number, string, string | null]>

/** Formats OpenAI's error: `{error: {message, type, param, code}}`. */
export function openAiRefusal(
  kind: ProviderRefusal,
  message: string,
  param?: string,
  code?: string,
): RefusedRequest {
  const [status, type, usual] = REFUSALS[kind]
  const error = { message, type, param: param ?? null, code: code ?? usual }
  return { status, headers: {}, body: { error } }
}

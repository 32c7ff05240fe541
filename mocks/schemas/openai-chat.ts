// Chat request in OpenAI's dialect: the fields of the public API reference, their types and ranges.
// Independent of providers; providers with more or fewer fields extend it.
import { z } from 'zod'
import { chatConversation, conversation } from './conversation.ts'

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
export const openAiChatBody = openAiChatFields.superRefine(conversation(chatConversation))

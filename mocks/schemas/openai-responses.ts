// Request schema of OpenAI's `responses`: the fields of the public API reference, their types and ranges.
// Independent of answers.
import { z } from 'zod'
import { conversation, responsesConversation } from './conversation.ts'
import { byType } from './field-errors.ts'

const part = z.looseObject({ type: z.string() })

/** Item of the input. A message may omit its type; types that are not listed are accepted. */
const item = byType(
  {
    message: z.looseObject({
      role: z.enum(['user', 'assistant', 'system', 'developer']),
      content: z.union([z.string(), z.array(part)]),
    }),
    function_call: z.looseObject({
      call_id: z.string().min(1),
      name: z.string().min(1),
      arguments: z.string(),
    }),
    function_call_output: z.looseObject({
      call_id: z.string().min(1),
      output: z.union([z.string(), z.array(part)]),
    }),
  },
  'message',
)

/** The Responses dialect defines the caller's own functions without a nested `function` object. */
const tool = byType({
  function: z.looseObject({
    name: z.string().regex(/^[\w-]{1,64}$/),
    parameters: z.looseObject({}).nullish(),
    strict: z.boolean().nullish(),
  }),
})

const responsesFields = z.looseObject({
  model: z.string().min(1),
  input: z.union([z.string(), z.array(item).min(1)]).optional(),
  background: z.boolean().nullish(),
  context_management: z.array(z.looseObject({ type: z.string() })).nullish(),
  conversation: z.union([z.string(), z.looseObject({ id: z.string() })]).nullish(),
  include: z.array(z.string()).nullish(),
  instructions: z.string().nullish(),
  max_output_tokens: z.int().min(16).nullish(),
  max_tool_calls: z.int().positive().nullish(),
  metadata: z.record(z.string(), z.string()).nullish(),
  moderation: z.looseObject({}).nullish(),
  parallel_tool_calls: z.boolean().nullish(),
  previous_response_id: z.string().nullish(),
  prompt: z.looseObject({ id: z.string() }).nullish(),
  prompt_cache_key: z.string().nullish(),
  prompt_cache_options: z.looseObject({}).optional(),
  prompt_cache_retention: z.enum(['in_memory', '24h']).nullish(),
  reasoning: z.looseObject({ effort: z.string().nullish(), summary: z.string().nullish() }).nullish(),
  safety_identifier: z.string().nullish(),
  service_tier: z.enum(['auto', 'default', 'flex', 'scale', 'priority']).nullish(),
  store: z.boolean().nullish(),
  stream: z.boolean().nullish(),
  stream_options: z.looseObject({ include_obfuscation: z.boolean().optional() }).nullish(),
  temperature: z.number().min(0).max(2).nullish(),
  text: z.looseObject({ format: z.looseObject({ type: z.string() }).optional() }).optional(),
  tool_choice: z.union([z.string(), z.looseObject({ type: z.string() })]).optional(),
  tools: z.array(tool).optional(),
  top_logprobs: z.int().min(0).max(20).nullish(),
  top_p: z.number().min(0).max(1).nullish(),
  truncation: z.enum(['auto', 'disabled']).nullish(),
  user: z.string().optional(),
})

/** Body of `POST responses`. */
export const openAiResponsesBody = responsesFields.superRefine(conversation(responsesConversation))

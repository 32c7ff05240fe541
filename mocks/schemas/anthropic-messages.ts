// Request schemas of Anthropic's `messages` and `messages/count_tokens`: the fields of the public API
// reference, their types and ranges. Independent of answers.
import { z } from 'zod'
import { byType, conversation, messagesConversation } from './refusals.ts'

/**
 * Part of a message. Types that are not listed (documents, results of the provider's own tools) are accepted.
 */
const block = byType({
  text: z.looseObject({ text: z.string().min(1) }),
  image: z.looseObject({ source: z.looseObject({ type: z.string() }) }),
  tool_use: z.looseObject({ id: z.string().min(1), name: z.string().min(1), input: z.looseObject({}) }),
  tool_result: z.looseObject({
    tool_use_id: z.string().min(1),
    content: z.union([z.string(), z.array(z.looseObject({ type: z.string() }))]).optional(),
    is_error: z.boolean().optional(),
  }),
  thinking: z.looseObject({ thinking: z.string(), signature: z.string() }),
  redacted_thinking: z.looseObject({ data: z.string() }),
})

const message = z.looseObject({
  role: z.enum(['user', 'assistant', 'system']),
  content: z.union([z.string().min(1), z.array(block).min(1)]),
})

/** The caller's own tools have a schema and need no type; the provider's tools have a dated type. */
const tool = byType(
  {
    custom: z.looseObject({
      name: z.string().regex(/^[\w-]{1,128}$/),
      input_schema: z.looseObject({ type: z.literal('object') }),
      description: z.string().optional(),
    }),
  },
  'custom',
)

const thinking = z.discriminatedUnion('type', [
  z.looseObject({ type: z.literal('enabled'), budget_tokens: z.int().min(1024) }),
  z.looseObject({ type: z.literal('adaptive') }),
  z.looseObject({ type: z.literal('between_tools') }),
  z.looseObject({ type: z.literal('disabled') }),
])

/** Fields of both endpoints. */
const shared = {
  model: z.string().min(1),
  messages: z.array(message).min(1),
  cache_control: z.looseObject({ type: z.literal('ephemeral') }).nullish(),
  context_management: z.looseObject({}).nullish(),
  mcp_servers: z.array(z.looseObject({ url: z.string() })).optional(),
  output_config: z.looseObject({}).optional(),
  output_format: z.looseObject({}).nullish(),
  speed: z.enum(['standard', 'fast']).nullish(),
  system: z
    .union([z.string(), z.array(z.looseObject({ type: z.literal('text'), text: z.string() }))])
    .optional(),
  thinking: thinking.optional(),
  tool_choice: z.looseObject({ type: z.enum(['auto', 'any', 'tool', 'none']) }).optional(),
  tools: z.array(tool).optional(),
  user_profile_id: z.string().optional(),
  workspace_id: z.string().optional(),
}

const messagesFields = z.looseObject({
  ...shared,
  max_tokens: z.int().min(1),
  billing_policy: z.looseObject({}).nullish(),
  compaction: z.looseObject({}).nullish(),
  container: z.union([z.string(), z.looseObject({})]).nullish(),
  diagnostics: z.looseObject({}).nullish(),
  fallback_credit_token: z.union([z.string(), z.looseObject({})]).nullish(),
  fallbacks: z.unknown().optional(),
  inference_geo: z.string().nullish(),
  metadata: z.looseObject({ user_id: z.string().max(256).nullish() }).optional(),
  service_tier: z.enum(['auto', 'standard_only']).optional(),
  stop_sequences: z.array(z.string().min(1)).optional(),
  stream: z.boolean().optional(),
  temperature: z.number().min(0).max(1).optional(),
  thread: z.looseObject({}).nullish(),
  top_k: z.int().min(0).optional(),
  top_p: z.number().min(0).max(1).optional(),
})

/** Body of `POST messages`. */
export const anthropicMessagesBody = messagesFields.superRefine(conversation(messagesConversation))

/** Body of `POST messages/count_tokens`. */
export const anthropicCountTokensBody = z.looseObject(shared).superRefine(conversation(messagesConversation))

/**
 * Body of Bedrock's InvokeModel: the model is in the path, and the operation decides whether the answer
 * streams.
 */
export const bedrockMessagesBody = messagesFields
  .omit({ model: true, stream: true })
  .extend({
    anthropic_version: z.string().regex(/^(bedrock-2023-05-31|\d{4}-\d\d-\d\d)$/),
    anthropic_beta: z.array(z.string()).optional(),
  })
  .superRefine(conversation(messagesConversation))

/** Body of Bedrock's CountTokens: the body of InvokeModel, in base64. */
export const bedrockCountTokensBody = z.looseObject({
  input: z.looseObject({
    invokeModel: z.looseObject({
      body: z.string().refine((text) => bedrockMessagesBody.safeParse(decoded(text)).success, {
        params: { sentence: true },
        message: 'The provided request is not valid',
      }),
    }),
  }),
})

/** Body of Vertex AI's rawPredict: the model is in the path. */
export const vertexMessagesBody = messagesFields
  .omit({ model: true })
  .extend({
    anthropic_version: z.string().regex(/^(vertex-2023-10-16|\d{4}-\d\d-\d\d)$/),
    anthropic_beta: z.array(z.string()).optional(),
  })
  .superRefine(conversation(messagesConversation))

function decoded(text: string): unknown {
  try {
    return JSON.parse(Buffer.from(text, 'base64').toString('utf8'))
  } catch {
    return null
  }
}

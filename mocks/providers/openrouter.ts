// OpenRouter: OpenAI's dialect, from a router to other providers. Sends comments before the first token,
// always sends usage, and includes the upstream's own message in errors.
import { z } from 'zod'
import {
  type Accent,
  modelList,
  openAiAccent,
  openAiChat,
  openAiEmbeddings,
  openAiRefusal,
} from '../dialects/openai-chat.ts'
import { bearer, event, type MockProvider } from '../provider.ts'
import { chatConversation, conversation } from '../schemas/conversation.ts'
import { openAiChatFields } from '../schemas/openai-chat.ts'

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

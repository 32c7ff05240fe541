// OpenRouter: OpenAI's dialect from a router of other providers. Comments come before the first token, the usage
// always comes, and an upstream's own message is inside the error.
import { z } from 'zod'
import {
  type Accent,
  modelList,
  openAiAccent,
  openAiChat,
  openAiEmbeddings,
  openAiRefusal,
} from '../openai-dialect.ts'
import { bearer, event, type Provider } from '../provider.ts'
import { openAiChatBody } from '../schemas/openai-chat.ts'

const PROCESSING = ': OPENROUTER PROCESSING\n\n'
const upstream = 'Witness'

/** What a request may say to the router itself; its own tools are kinds beside `function`. */
const body = openAiChatBody.extend({
  models: z.array(z.string()).optional(),
  plugins: z.array(z.looseObject({ id: z.string() })).optional(),
  provider: z.looseObject({}).optional(),
  reasoning: z.looseObject({}).nullish(),
  tools: z.array(z.looseObject({ type: z.string() })).optional(),
  transforms: z.array(z.string()).optional(),
  usage: z.looseObject({ include: z.boolean() }).optional(),
})

const accent: Accent = {
  ...openAiAccent,
  reasoning: 'reasoning',
  streamUsage: 'finish',
  streamType: 'text/event-stream',
  opening: [PROCESSING, PROCESSING],
  keepAlive: PROCESSING,
  usage: ({ input, output, cached, reasoning }) => ({
    prompt_tokens: input,
    completion_tokens: output,
    total_tokens: input + output,
    cost: 0.0001,
    is_byok: false,
    prompt_tokens_details: { cached_tokens: cached },
    completion_tokens_details: { reasoning_tokens: reasoning },
  }),
  also: () => ({ provider: upstream }),
}
const chat = openAiChat(accent, body)

/** The stand-in for OpenRouter. */
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
            id: 'gen-witness-00000000',
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
} satisfies Provider

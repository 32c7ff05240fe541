// Groq: OpenAI's dialect below Groq's own base path. Adds `x_groq`, and reports usage twice.
import { modelList, openAiAccent, openAiChat, openAiRefusal } from '../dialects/openai-chat.ts'
import { bearer, type MockProvider, type MockUsage } from '../provider.ts'

const usage = ({ input, output, reasoning, cached }: MockUsage) => ({
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

const chat = openAiChat({
  ...openAiAccent,
  reasoning: 'reasoning',
  usage,
  streamType: 'text/event-stream',
  also(where, said) {
    const id = 'req_mock'
    if (where === 'first') return { x_groq: { id } }
    if (where === 'finish') return { x_groq: { id, ...(said.usage && { usage: usage(said.usage) }) } }
    return where === 'whole' ? { x_groq: { id }, service_tier: 'on_demand' } : {}
  },
})

export const groq = {
  name: 'groq',
  origin: 'https://api.groq.com',
  basePaths: ['/openai/v1'],
  endpoints: [chat, modelList],
  credential: bearer,
  refusal(kind, message) {
    const { body, ...refused } = openAiRefusal(kind, message)
    const { type, code } = (body as { error: { type: string; code: string | null } }).error
    return { ...refused, body: { error: { message, type, ...(code && { code }) } } }
  },
  unknownField: (name) => `property '${name}' is unsupported`,
} satisfies MockProvider

// DeepSeek: OpenAI's dialect, with and without `/v1` in the path; shows thoughts, and always reports usage.
import { modelList, openAiAccent, openAiChat, openAiRefusal } from '../dialects/openai-chat.ts'
import { bearer, type MockProvider } from '../provider.ts'

const chat = openAiChat({
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
  endpoints: [chat, modelList],
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

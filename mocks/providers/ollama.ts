// Ollama: OpenAI's dialect below `/v1` on this machine, without a key; thoughts are in `reasoning`, and every
// chunk has a role. Ollama's hosted service is a different program without a mock.
import {
  type Accent,
  modelList,
  openAiAccent,
  openAiChat,
  openAiEmbeddings,
} from '../dialects/openai-chat.ts'
import { bearer, type MockProvider, type ProviderRefusal } from '../provider.ts'
import { openAiChatFields } from '../schemas/openai-chat.ts'

const accent: Accent = {
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

const chat = openAiChat(accent, openAiChatFields)

const STATUSES = {
  bad_key: 401,
  invalid_request: 400,
  unknown_model: 404,
  unknown_path: 404,
  rate_limited: 429,
  overloaded: 503,
  server_error: 500,
} as const satisfies Record<ProviderRefusal, number>

const typeOf = (status: number): string =>
  status === 400 ? 'invalid_request_error' : status === 404 ? 'not_found_error' : 'api_error'

export const ollama = {
  name: 'ollama',
  origin: 'http://localhost:11434',
  origins: /^http:\/\/(localhost|127\.0\.0\.1):11434$/,
  basePaths: ['/v1'],
  endpoints: [chat, openAiEmbeddings, modelList],
  credential: bearer,
  keyless: true,
  refusal(kind, message) {
    const status = STATUSES[kind]
    return {
      status,
      headers: {},
      body: { error: { message, type: typeOf(status), param: null, code: null } },
    }
  },
  unknownField: () => null,
} satisfies MockProvider

// xAI: OpenAI's dialect, with these differences: a bad key is a 400, an error is plain text with a code, and
// output tokens exclude reasoning tokens. Thoughts stay hidden.
import { modelList, openAiAccent, openAiChat } from '../dialects/openai-chat.ts'
import { bearer, type MockProvider, type ProviderRefusal } from '../provider.ts'

const chat = openAiChat({
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

const REFUSALS = {
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
  endpoints: [chat, modelList],
  credential: bearer,
  refusal(kind, message) {
    const [status, code] = REFUSALS[kind]
    return { status, headers: {}, body: { code, error: message } }
  },
  unknownField: () => null,
} satisfies MockProvider

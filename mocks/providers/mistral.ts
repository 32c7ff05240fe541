// Mistral: OpenAI's dialect with its own errors: `{detail}` for a bad key, and a numeric code for other
// errors. Thoughts are parts of the content, calls are never split, and usage is always sent with the finish
// reason.
import { z } from 'zod'
import {
  modelList,
  openAiAccent,
  openAiChat,
  openAiChatFields,
  openAiEmbeddings,
  openAiSpeech,
} from '../dialects/openai-chat.ts'
import {
  bearer,
  event,
  type MockProvider,
  type ModelOutput,
  type ProviderRefusal,
  type Speech,
} from '../provider.ts'
import { chatConversation, conversation } from '../schemas/refusals.ts'

const created = 1_795_200_000
const own = openAiSpeech({ ...openAiAccent, streamUsage: 'finish' })

const usageOf = (said: ModelOutput) =>
  said.usage && {
    usage: {
      prompt_tokens: said.usage.input,
      total_tokens: said.usage.input + said.usage.output,
      completion_tokens: said.usage.output,
      prompt_tokens_details: { cached_tokens: said.usage.cached },
    },
  }

const thinking = (text: string, closed: boolean) => ({
  type: 'thinking',
  thinking: [{ type: 'text', text }],
  ...(closed && { closed }),
})

const callsOf = ({ calls }: ModelOutput) =>
  calls.map(({ id, name, arguments: pieces }, index) => ({
    id,
    type: 'function',
    function: { name, arguments: pieces.join('') },
    index,
  }))

const speech: Speech = {
  ...own,

  whole(said) {
    const text = said.text.join('')
    const thoughts = said.reasoning.length > 0 ? [thinking(said.reasoning.join(''), true)] : []
    const message = {
      role: 'assistant',
      tool_calls: said.calls.length > 0 ? callsOf(said) : null,
      content: thoughts.length > 0 ? [...thoughts, { type: 'text', text }] : text,
    }
    return {
      id: 'mock',
      created,
      model: said.model,
      ...usageOf(said),
      object: 'chat.completion',
      choices: [{ index: 0, finish_reason: said.finish, message }],
    }
  },

  events(said) {
    const deltas: object[] = [
      ...said.reasoning.map((text, index) => ({ content: [thinking(text, index > 0)] })),
      // The first words after a thought are still a part; later words are plain text.
      ...said.text.map((text, index) => ({
        content: index === 0 && said.reasoning.length > 0 ? [{ type: 'text', text }] : text,
      })),
    ]
    if (said.calls.length > 0) deltas.push({ tool_calls: callsOf(said) })
    const steps = [{ role: 'assistant', content: '' }, ...deltas]
    const chunks = steps.map((delta, index) => {
      const last = index === steps.length - 1
      return event({
        id: 'mock',
        object: 'chat.completion.chunk',
        created,
        model: said.model,
        choices: [{ index: 0, delta, finish_reason: last ? said.finish : null }],
        ...(last && usageOf(said)),
      })
    })
    return [...chunks, event('[DONE]')]
  },
}

/** Fields in addition to OpenAI's; the maximum temperature is 1.5. */
const fields = openAiChatFields.extend({
  document_image_limit: z.int().min(0).nullish(),
  document_page_limit: z.int().min(0).nullish(),
  prompt_mode: z.literal('reasoning').nullish(),
  random_seed: z.int().min(0).nullish(),
  safe_prompt: z.boolean().optional(),
  temperature: z.number().min(0).max(1.5).nullish(),
})

const body = fields.superRefine(conversation(chatConversation))
const chat = { ...openAiChat(openAiAccent, body), speech }

const REFUSALS = {
  invalid_request: [400, 'invalid_request_invalid_args', '3051'],
  unknown_model: [400, 'invalid_model', '1500'],
  rate_limited: [429, 'rate_limited', '1300'],
  overloaded: [503, 'service_unavailable', '1001'],
  server_error: [500, 'internal_server_error', '1000'],
} as const satisfies Record<
  Exclude<ProviderRefusal, 'bad_key' | 'unknown_path'>,
  readonly [number, string, string]
>

export const mistral = {
  name: 'mistral',
  origin: 'https://api.mistral.ai',
  basePaths: ['/v1'],
  endpoints: [chat, openAiEmbeddings, modelList],
  credential: bearer,
  refusal(kind, message) {
    if (kind === 'bad_key') return { status: 401, headers: {}, body: { detail: message } }
    if (kind === 'unknown_path') return { status: 404, headers: {}, body: { detail: message } }
    const [status, type, code] = REFUSALS[kind]
    return { status, headers: {}, body: { object: 'error', message, type, param: null, code } }
  },
  unknownField: (name) => `${name}: Extra inputs are not permitted`,
} satisfies MockProvider

// Chat completions on the client side. Format: OpenAI API reference, "Chat" and "Errors".
import { z } from 'zod'
import { errorSchema } from '../../core/error-schema.ts'
import type { RequestTraits } from '../../core/request-traits.ts'
import { BINARY, estimateTokens, readableText } from '../../core/token-estimate.ts'
import { canonical } from '../../json/canonical.ts'
import { spliceMembers } from '../../json/splice.ts'
import type { ClientDialect } from '../dialect.ts'
import { isObject } from '../json.ts'
import { type KeptKind, places } from '../kept.ts'
import { inside } from '../optional-members.ts'
import {
  BodyTraits,
  modelSchema,
  openingOf,
  readConversation,
  readFields,
  sessionInMetadata,
} from '../request-fields.ts'

/** Fields that the gateway itself needs. All other fields are left to the provider and are not copied. */
const schema = z.object({
  model: modelSchema,
  messages: z.array(z.unknown()),
  stream: z.boolean().nullish(),
  stream_options: z.looseObject({ include_usage: z.boolean().nullish() }).nullish(),
})

const isFilled = (value: unknown): boolean => Array.isArray(value) && value.length > 0

export class ChatTraits extends BodyTraits implements RequestTraits {
  get tools(): boolean {
    return isFilled(this.body.tools) || isFilled(this.body.functions)
  }

  get effort(): string | null {
    const { reasoning_effort, reasoning } = this.body
    const effort = reasoning_effort ?? (isObject(reasoning) ? reasoning.effort : null)
    return typeof effort === 'string' ? effort : null
  }

  get opening(): string {
    const { tools, functions, messages } = this.body
    return openingOf([tools, functions], null, messages)
  }

  protected countInput(): number {
    const { messages, tools, functions, response_format, prediction } = this.body
    return estimateTokens(readableText([messages, prediction], BINARY, [tools, functions, response_format]))
  }

  protected findImages(): boolean {
    const { messages } = this.body
    if (!Array.isArray(messages)) return false
    const contents = messages.map((message) => (isObject(message) ? message.content : null))
    return contents.some((content) => Array.isArray(content) && content.some(isImage))
  }
}

const isImage = (part: unknown): boolean => isObject(part) && IMAGES.has(part.type)
const IMAGES = new Set<unknown>(['image_url', 'input_image', 'image'])

export const kept: readonly KeptKind[] = [
  {
    what: 'the file',
    onRecord: 'object',
    at: places(
      'messages.*.content.*.file.file_id',
      'messages.*.content.*.image_file.file_id',
      'messages.*.content.*.image_url.file_id',
      'messages.*.content.*.input_audio.file_id',
      'messages.*.content.*.file_id',
    ),
    instead: 'its content',
  },
  {
    what: 'the audio',
    at: places('messages.*.audio.id'),
    instead: 'its text',
  },
]

/** Switches usage on. Every other option keeps its bytes. */
export const askForUsage = inside({ include_usage: 'true' })

export const client = {
  name: 'chat',
  path: '/v1/chat/completions',
  summary: 'live routing of chat completions, streamed or not; spends money',
  schema: schema.loose(),
  errorSchema,
  requestIdHeader: 'x-request-id',

  parse({ text, json }) {
    const { model, stream } = readConversation(schema, json, json.messages)
    const options = json.stream_options == null ? null : readFields(schema, json).stream_options
    return {
      request: {
        model,
        stream: stream === true,
        text,
        wantsUsage: options?.include_usage === true,
        forwarded: [],
        query: '',
      },
      traits: new ChatTraits(json),
      sessionHints: [sessionInMetadata(json.metadata), json.prompt_cache_key],
    }
  },

  kept,

  estimateInput: ({ text }) => new ChatTraits(JSON.parse(text)).inputTokens,

  // The gateway always requests usage and removes it for clients that do not want it. Other options change
  // the stream.
  cacheIdentity: ({ text, stream }) =>
    stream
      ? canonical(spliceMembers(text, { stream_options: askForUsage }), ['stream'])
      : canonical(text, ['stream', 'stream_options']),

  errorBody: (error, requestId) => error.body(requestId),
  errorEvent: (error, requestId) => `data: ${error.body(requestId)}\n\n`,
  renameModel: (json, model) => spliceMembers(json, { model }),
} satisfies ClientDialect

/** `model`: the id that the client requests; `key`: additional arguments of curl. */
export const curlExample = (url: string, model: string, key = ''): string =>
  `curl -s ${url}${client.path}${key} -H 'content-type: application/json' -d '{"model":"${model}","messages":[{"role":"user","content":"Where do you go?"}]}'`

// Chat completions on the client side. Format: OpenAI API reference, "Chat" and "Errors".
import { z } from 'zod'
import { errorSchema } from '../../core/error-schema.ts'
import { canonical } from '../../json/canonical.ts'
import { spliceMembers } from '../../json/splice.ts'
import type { ClientDialect } from '../dialect.ts'
import { readFields } from '../request-fields.ts'
import { sessionInMetadata } from '../session-hint.ts'
import { kept } from './kept.ts'
import { askForUsage } from './stream-options.ts'
import { ChatTraits } from './traits.ts'

/** Fields that the gateway itself needs. All other fields are left to the provider and are not copied. */
const schema = z.object({
  model: z.string().min(1).max(256),
  messages: z.array(z.unknown()),
  stream: z.boolean().nullish(),
  stream_options: z.looseObject({ include_usage: z.boolean().nullish() }).nullish(),
})

export const client = {
  name: 'chat',
  path: '/v1/chat/completions',
  summary: 'live routing of chat completions, streamed or not; spends money',
  schema: schema.loose(),
  errorSchema,
  requestIdHeader: 'x-request-id',

  parse({ text, json }) {
    const { model, stream, stream_options: options } = readFields(schema, json)
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

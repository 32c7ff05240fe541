// Messages on the client side. Format: Anthropic API reference, "Messages" and "Errors".
import { z } from 'zod'
import { canonical } from '../../json/canonical.ts'
import { inObject, spliceMembers } from '../../json/splice.ts'
import type { ArrivedRequest, ClientDialect } from '../dialect.ts'
import { isObject } from '../json.ts'
import { readFields } from '../request-fields.ts'
import { sessionInMetadata } from '../session-hint.ts'
import { errorBody, errorSchema } from './errors.ts'
import { estimateAll } from './input.ts'
import { isThreaded, kept, threadUnsupported } from './kept.ts'
import { MessagesTraits } from './traits.ts'

/** Fields that the gateway itself needs. All other fields are left to the provider and are not copied. */
const schema = z.object({
  model: z.string().min(1).max(256),
  messages: z.array(z.unknown()),
  stream: z.boolean().nullish(),
})

export const client = {
  name: 'messages',
  path: '/v1/messages',
  summary: "live routing of Anthropic's messages, streamed or not; spends money",
  schema: schema.loose(),
  errorSchema,
  requestIdHeader: 'request-id',

  parse({ text, json, headers, query }) {
    const { model, stream } = readFields(schema, json)
    const isThread = isThreaded(json)
    return {
      request: {
        model,
        stream: stream === true,
        text,
        wantsUsage: true,
        forwarded: dialectHeaders(headers),
        query,
      },
      traits: new MessagesTraits(json),
      sessionHints: [sessionInMetadata(json.metadata)],
      keepsAnswer: isThread,
      ...(isThread && { noKeeper: threadUnsupported }),
    }
  },

  kept,

  estimateInput: ({ text }) => new MessagesTraits(JSON.parse(text)).inputTokens,

  // Betas change the content of an answer.
  cacheIdentity({ text, forwarded, query }) {
    const body = canonical(text, ['stream'])
    return body === null ? null : JSON.stringify([forwarded, query, body])
  },

  isSpokenBy: (headers) => headers['anthropic-version'] !== undefined,
  counting: {
    path: '/v1/messages/count_tokens',
    summary: 'counts the tokens of a request, by a provider or as an estimate; no call, no cost',
    schema: schema.loose(),
    estimate: (json) => JSON.stringify({ input_tokens: estimateAll(json) }),
  },

  errorBody,
  errorEvent: (error, requestId) => `event: error\ndata: ${errorBody(error, requestId)}\n\n`,

  ping: 'event: ping\ndata: {"type":"ping"}\n\n',

  // A stream names the model only once, in the message of the first event.
  renameModel: (json, model) => {
    const parsed: unknown = JSON.parse(json)
    return isObject(parsed) && parsed.type === 'message_start'
      ? spliceMembers(json, { message: inObject({ model }) })
      : spliceMembers(json, { model })
  },
} satisfies ClientDialect

/** Returns the version and all betas, even unknown ones, because they affect the meaning of a request. */
const dialectHeaders = (headers: ArrivedRequest['headers']): string[] =>
  Object.entries(headers).flatMap(([name, value]) =>
    name.startsWith('anthropic-') && value !== undefined ? [name, String(value)] : [],
  )

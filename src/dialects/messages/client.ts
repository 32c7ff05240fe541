// Messages as clients speak them: what is read of a request, and how an error is worded. Shapes: Anthropic API
// reference, "Messages" and "Errors".
import { z } from 'zod'
import { GatewayError } from '../../errors.ts'
import { canonical } from '../../json/canonical.ts'
import { spliceMembers } from '../../json/splice.ts'
import type { ArrivedRequest, ClientDialect } from '../dialect.ts'
import { isObject } from '../json.ts'
import { sessionInMetadata } from '../session-hint.ts'
import { errorBody, errorSchema } from './errors.ts'
import { estimateAll } from './input.ts'
import { MessagesTraits } from './traits.ts'

/** What the gateway itself needs of the request; everything else is the provider's to judge, and is not even copied. */
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
    const parsed = schema.safeParse(json)
    if (!parsed.success) throw invalid(parsed.error.issues[0]!)
    const { model, stream } = parsed.data
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
    }
  },

  estimateInput: ({ text }) => new MessagesTraits(JSON.parse(text)).inputTokens,

  // Betas change what an answer may hold.
  cacheIdentity({ text, forwarded, query }) {
    const body = canonical(text, ['stream'])
    return body === null ? null : JSON.stringify([forwarded, query, body])
  },

  isSpokenBy: (headers) => headers['anthropic-version'] !== undefined,
  counting: {
    path: '/v1/messages/count_tokens',
    summary: 'how many tokens a request has, counted by a provider or estimated; no call, no cost',
    schema: schema.loose(),
    estimate: (json) => JSON.stringify({ input_tokens: estimateAll(json) }),
  },

  errorBody,
  errorEvent: (error, requestId) => `event: error\ndata: ${errorBody(error, requestId)}\n\n`,

  ping: 'event: ping\ndata: {"type":"ping"}\n\n',

  // A stream names the model once, inside the message that its first event begins.
  renameModel: (json, model) => {
    const parsed: unknown = JSON.parse(json)
    return isObject(parsed) && parsed.type === 'message_start'
      ? spliceMembers(json, { message: (message = '{}') => spliceMembers(message, { model }) })
      : spliceMembers(json, { model })
  },
} satisfies ClientDialect

/** Version and betas decide what a request means: all of them go to the provider, unknown ones too. */
const dialectHeaders = (headers: ArrivedRequest['headers']): string[] =>
  Object.entries(headers).flatMap(([name, value]) =>
    name.startsWith('anthropic-') && value !== undefined ? [name, String(value)] : [],
  )

function invalid({ path, message }: z.core.$ZodIssue): GatewayError {
  const param = path.join('.')
  return new GatewayError('invalid_request', `${param}: ${message}`, { param })
}

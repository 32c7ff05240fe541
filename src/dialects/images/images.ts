// OpenAI's images, the dialect that generates images from text.

import { z } from 'zod'
import { EMPTY_EVENT, type ParsedEvent, type Tokens } from '../../core/call.ts'
import { errorSchema } from '../../core/error-schema.ts'
import { estimateTokens } from '../../core/token-estimate.ts'
import { canonical } from '../../json/canonical.ts'
import { spliceMembers } from '../../json/splice.ts'
import type { ClientDialect, Dialect, StreamReader, UpstreamDialect } from '../dialect.ts'
import { isObject, type Json, member, tokenCount } from '../json.ts'
import { errorOf, modelList, readError, requestTo } from '../openai.ts'
import { readFields } from '../request-fields.ts'
import { KNOWN_TO_OPENAI, kindsIn, reportedIn, servedIn, unknownIn } from '../served.ts'
import type { StreamEvent } from '../stream-event.ts'

/** Fields that the gateway itself needs. All other fields are left to the provider and are not copied. */
const schema = z.object({
  model: z.string().min(1).max(256),
  prompt: z.string(),
  stream: z.boolean().nullish(),
})

export const client = {
  name: 'images',
  path: '/v1/images/generations',
  summary: 'live routing of images, streamed or not; spends money',
  operation: 'image_generation',
  schema: schema.loose(),
  errorSchema,
  requestIdHeader: 'x-request-id',

  parse({ text, json }) {
    const { model, prompt, stream } = readFields(schema, json)
    return {
      request: { model, stream: stream === true, text, wantsUsage: true, forwarded: [], query: '' },
      traits: {
        tools: false,
        images: false,
        effort: null,
        get inputTokens() {
          return estimateTokens(prompt)
        },
      },
      sessionHints: [],
    }
  },

  estimateInput: ({ text }) => estimateTokens(JSON.parse(text).prompt),
  cacheIdentity: ({ text }) => canonical(text, ['stream']),
  errorBody: (error, requestId) => error.body(requestId),
  errorEvent: (error, requestId) => `event: error\ndata: ${error.body(requestId)}\n\n`,
  renameModel: (json, model) => spliceMembers(json, { model }),
} satisfies ClientDialect

export const upstream = {
  relayedHeaders: /^(x-request-id|x-ratelimit-.+)$/,
  request: requestTo('/images/generations'),

  readAnswer(text) {
    const json: unknown = JSON.parse(text)
    if (!isObject(json) || (!Array.isArray(json.data) && json.error == null))
      throw new Error('not a list of images')
    const { data, usage, error } = json
    return {
      ...EMPTY_EVENT,
      done: true,
      finished: error == null,
      model: modelOf(json),
      tokens: Array.isArray(data) ? tokensOf(usage, data.length) : null,
      error: error == null ? null : errorOf(error),
    }
  },

  openStream: (): StreamReader => new ImageStream(),
  readError,
} satisfies UpstreamDialect

class ImageStream implements StreamReader {
  #images = 0

  read(event: StreamEvent): ParsedEvent {
    const { name, data } = event
    if (data.trim() === '[DONE]') return { ...EMPTY_EVENT, done: true, opens: false }
    const json = event.json()
    if (!isObject(json)) throw new Error('not a JSON object')
    const { type = name, error } = json
    if (error != null || type === 'error') return { ...EMPTY_EVENT, error: errorOf(error ?? json) }
    if (type !== 'image_generation.completed') return { ...EMPTY_EVENT, model: modelOf(json) }
    this.#images++
    const tokens = tokensOf(json.usage, this.#images)
    return { ...EMPTY_EVENT, finished: true, model: modelOf(json), tokens }
  }
}

const modelOf = ({ model }: Json): string | null => (typeof model === 'string' ? model : null)

/** `images`: number of images, for providers that charge per image and count no tokens. */
function tokensOf(usage: unknown, images: number): Tokens {
  const served = isObject(usage)
    ? servedIn(
        {
          kinds: kindsIn(
            usage.input_tokens_details,
            usage.output_tokens_details ?? { image_tokens: usage.output_tokens },
          ),
        },
        unknownIn(usage, KNOWN_TO_OPENAI),
        reportedIn(usage),
      )
    : undefined
  return {
    source: isObject(usage) ? 'reported' : null,
    input: tokenCount(member(usage, 'input_tokens')),
    output: tokenCount(member(usage, 'output_tokens')),
    cached_input: tokenCount(member(member(usage, 'input_tokens_details'), 'cached_tokens')),
    cache_write: null,
    reasoning: null,
    images,
    ...(served && { served }),
  }
}

export const images = { client, upstream, modelList } satisfies Dialect

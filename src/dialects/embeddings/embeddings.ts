// OpenAI's embeddings, which turn texts or tokens into vectors.

import { z } from 'zod'
import { EMPTY_EVENT, type Tokens } from '../../core/call.ts'
import { errorSchema } from '../../core/error-schema.ts'
import { estimateTokens } from '../../core/token-estimate.ts'
import { canonical } from '../../json/canonical.ts'
import { spliceMembers } from '../../json/splice.ts'
import type { ClientDialect, Dialect, UpstreamDialect } from '../dialect.ts'
import { isObject, type Json, tokenCount } from '../json.ts'
import { errorOf, modelList, readError, requestTo } from '../openai.ts'
import { readFields } from '../request-fields.ts'
import { KNOWN_TO_OPENAI, reportedIn, servedIn, unknownIn } from '../served.ts'

/** Fields that the gateway itself needs. All other fields are left to the provider and are not copied. */
const schema = z.object({
  model: z.string().min(1).max(256),
  input: z.union([z.string(), z.array(z.unknown())], 'expected a text, a list of texts, or tokens'),
})

export const client = {
  name: 'embeddings',
  path: '/v1/embeddings',
  summary: 'live routing of embeddings; spends money',
  operation: 'embeddings',
  schema: schema.loose(),
  errorSchema,
  requestIdHeader: 'x-request-id',
  staysWithModel: 'vectors of two models do not mix',

  parse({ text, json }) {
    const { model, input } = readFields(schema, json)
    return {
      request: { model, stream: false, text, wantsUsage: true, forwarded: [], query: '' },
      traits: {
        tools: false,
        images: false,
        effort: null,
        get inputTokens() {
          return tokensIn(input)
        },
      },
      sessionHints: [],
    }
  },

  estimateInput: ({ text }) => tokensIn(JSON.parse(text).input),
  cacheIdentity: ({ text }) => canonical(text, []),
  errorBody: (error, requestId) => error.body(requestId),
  errorEvent: (error, requestId) => `data: ${error.body(requestId)}\n\n`,
  renameModel: (json, model) => spliceMembers(json, { model }),
} satisfies ClientDialect

/** Estimates the tokens of texts. Each number counts as one token. */
function tokensIn(input: unknown): number {
  const texts: string[] = []
  let tokens = 0
  const waiting = [input] // not recursive: the sender decides how deep a request is
  while (waiting.length > 0) {
    const value = waiting.pop()
    if (typeof value === 'string') texts.push(value)
    else if (typeof value === 'number') tokens++
    else if (Array.isArray(value)) for (const each of value) waiting.push(each)
  }
  return tokens + estimateTokens(texts.join('\n'))
}

const upstream = {
  relayedHeaders: /^(x-request-id|x-ratelimit-.+)$/,

  // OpenAI's maximum of 2,048 texts, with 1,536 numbers each. Lists of numbers are quick to read.
  mostValues: 4_000_000,

  request: requestTo('/embeddings'),

  readAnswer(text) {
    const json: unknown = JSON.parse(text)
    if (!isObject(json) || (!Array.isArray(json.data) && json.error == null))
      throw new Error('not a list of embeddings')
    const { model, usage, error } = json
    return {
      ...EMPTY_EVENT,
      done: true,
      finished: error == null,
      model: typeof model === 'string' ? model : null,
      tokens: isObject(usage) ? tokensOf(usage) : null,
      error: error == null ? null : errorOf(error),
    }
  },

  openStream() {
    throw new Error('embeddings are not streamed')
  },
  readError,
} satisfies UpstreamDialect

/** An embedding model writes no text: its output is known to be 0. */
function tokensOf(usage: Json): Tokens {
  const input = tokenCount(usage.prompt_tokens)
  const output = input === null ? null : 0
  const served = servedIn(unknownIn(usage, KNOWN_TO_OPENAI), reportedIn(usage))
  const none = { cached_input: null, cache_write: null, reasoning: null }
  return { source: 'reported', input, output, ...none, ...(served && { served }) }
}

export const embeddings = { client, upstream, modelList } satisfies Dialect

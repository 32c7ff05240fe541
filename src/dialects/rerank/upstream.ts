// Rerank on the provider side. Never streamed.
import { EMPTY_EVENT, type Tokens } from '../../core/call.ts'
import type { UpstreamDialect } from '../dialect.ts'
import { isObject, type Json, tokenCount } from '../json.ts'
import { errorOf, readError } from '../openai-errors.ts'
import { requestTo } from '../openai-request.ts'

export const upstream = {
  relayedHeaders: /^(x-request-id|x-ratelimit-.+)$/,
  request: requestTo('/rerank'),

  readAnswer(text) {
    const json: unknown = JSON.parse(text)
    if (!isObject(json) || (!Array.isArray(json.results) && json.error == null))
      throw new Error('not a list of results')
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
    throw new Error('rerank is not streamed')
  },
  readError,
} satisfies UpstreamDialect

/** It writes no text: its output is known to be 0. */
function tokensOf(usage: Json): Tokens {
  const input = tokenCount(usage.total_tokens)
  const output = input === null ? null : 0
  return { source: 'reported', input, output, cached_input: null, cache_write: null, reasoning: null }
}

// Embeddings on the provider side: OpenAI, Azure, Mistral, OpenRouter, Ollama, vLLM. Never streamed.
import { EMPTY_EVENT, type Tokens } from '../../core/call.ts'
import type { UpstreamDialect } from '../dialect.ts'
import { isObject, type Json, tokenCount } from '../json.ts'
import { errorOf, readError } from '../openai-errors.ts'
import { requestTo } from '../openai-request.ts'
import { KNOWN_TO_OPENAI, reportedIn, servedIn, unknownIn } from '../served.ts'

export const upstream = {
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

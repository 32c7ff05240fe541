// Chat completions on the provider side: OpenAI, Groq, OpenRouter, DeepSeek, Mistral, xAI, Together, Ollama,
// vLLM. Format: OpenAI API reference, "Chat" and "Streaming".
import { type Replacement, spliceMembers } from '../../json/splice.ts'
import { parseExact } from '../../shared/exact-json.ts'
import type { StreamReader, UpstreamDialect } from '../dialect.ts'
import { withoutForeignReasoning } from '../foreign-reasoning.ts'
import { isObject } from '../json.ts'
import { errorIn, readError } from '../openai-errors.ts'
import { endedBadly } from '../stops.ts'
import { withKnownLimit } from './limit-name.ts'
import { optional } from './optional.ts'
import { ChatReader } from './read.ts'
import { askForUsage } from './stream-options.ts'
import { tuned } from './tuned.ts'

export const upstream = {
  optional,
  renamed: withKnownLimit,
  tuned,
  isTooLong: ({ code, message }) =>
    code === 'context_length_exceeded' || /maximum context length|exceeds? the context window/i.test(message),
  relayedHeaders: /^(x-request-id|x-ratelimit-.+)$/,

  request({ text, stream, wantsUsage, forwarded }, model, { basePath, key }) {
    const values: Record<string, Replacement> = { model: JSON.stringify(model) }
    // Usage is always requested, because the record needs it. The relay removes it if the client does not
    // want it.
    if (stream && !wantsUsage) values.stream_options = askForUsage
    const accept = stream ? 'text/event-stream' : 'application/json'
    const headers = ['content-type', 'application/json', 'accept', accept]
    headers.push('accept-encoding', 'identity', 'user-agent', 'waybill', ...forwarded)
    if (key !== null) headers.push('authorization', `Bearer ${key}`)
    const own = withoutForeignReasoning(text, null)
    return { path: `${basePath}/chat/completions`, headers, body: spliceMembers(own, values) }
  },

  readAnswer(text, parts = null) {
    const json: unknown = JSON.parse(text)
    if (!isObject(json) || (!Array.isArray(json.choices) && errorIn(json) === null))
      throw new Error('not a chat answer')
    const parsed = new ChatReader(parts).answer(json, parts ? parseExact(text) : json)
    const isEmpty = Array.isArray(json.choices) && json.choices.length === 0
    return { ...parsed, ...(isEmpty && { error: parsed.error ?? endedBadly(null) }), done: true }
  },

  openStream: (parts = null): StreamReader => new ChatReader(parts),

  readError,
} satisfies UpstreamDialect

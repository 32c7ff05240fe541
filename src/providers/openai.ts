// The OpenAI chat-completions dialect, which most providers speak: OpenAI, Groq, OpenRouter, DeepSeek,
// Mistral, xAI, Together, Ollama, vLLM. Shapes: OpenAI API reference, "Chat" and "Streaming".
import { EMPTY_EVENT, type ParsedEvent, type ProviderError, type Tokens } from '../call.ts'
import type { Dialect } from './dialect.ts'
import { spliceMembers } from './splice.ts'

type Json = Record<string, unknown>

const isObject = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
/** A count of tokens; anything that cannot be one was not reported. */
const count = (value: unknown): number | null =>
  Number.isSafeInteger(value) && (value as number) >= 0 ? (value as number) : null
const member = (value: unknown, name: string): unknown => (isObject(value) ? value[name] : undefined)

export const openai = {
  request({ text, stream, streamOptions }, model, { basePath, key }) {
    const values: Record<string, string> = { model: JSON.stringify(model) }
    // Usage is what the record is for, so it is always asked for; the relay withholds what the client did not want.
    if (stream && streamOptions?.include_usage !== true)
      values.stream_options = JSON.stringify({ ...streamOptions, include_usage: true })
    const headers = [
      'content-type',
      'application/json',
      'accept',
      stream ? 'text/event-stream' : 'application/json',
    ]
    headers.push('accept-encoding', 'identity', 'user-agent', 'waybill')
    if (key !== null) headers.push('authorization', `Bearer ${key}`)
    return { path: `${basePath}/chat/completions`, headers, body: spliceMembers(text, values) }
  },

  readAnswer(text) {
    const json: unknown = JSON.parse(text)
    if (!isObject(json) || (!Array.isArray(json.choices) && json.error == null))
      throw new Error('not a chat answer')
    return { ...read(json), done: true }
  },

  readEvent({ event, data }) {
    if (data.trim() === '[DONE]') return { ...EMPTY_EVENT, done: true }
    const json: unknown = JSON.parse(data)
    if (!isObject(json)) throw new Error('not a JSON object')
    const parsed = read(json)
    return event === 'error' && !parsed.error ? { ...parsed, error: errorOf(json) } : parsed
  },

  readError(text) {
    try {
      const error: unknown = member(JSON.parse(text), 'error')
      return isObject(error) && typeof error.message === 'string' ? errorOf(error) : null
    } catch {
      return null
    }
  },
} satisfies Dialect

function read(json: Json): ParsedEvent {
  const { usage, model, error } = json
  const choices = Array.isArray(json.choices) ? json.choices : null
  const reported = usage ?? member(json.x_groq, 'usage') // Groq puts it there where it was not asked for
  return {
    done: false,
    finished: choices?.some((choice) => member(choice, 'finish_reason') != null) ?? false,
    unusual: choices?.some((choice) => !USUAL.includes(member(choice, 'finish_reason'))) ?? false,
    text: choices?.map((choice) => textOf(member(choice, 'delta'))).join('') ?? '',
    model: typeof model === 'string' ? model : null,
    tokens: isObject(reported) ? tokensOf(reported) : null,
    usageOnly: choices?.length === 0 && isObject(usage),
    error: error == null ? null : errorOf(error),
  }
}

/** How an answer ends that is as good as any; an unfinished chunk has no reason at all. */
const USUAL: unknown[] = ['stop', 'length', 'tool_calls', 'function_call', null, undefined]

/** What a delta adds to the answer. DeepSeek and Groq name their thoughts differently. */
function textOf(delta: unknown): string {
  if (!isObject(delta)) return ''
  const { content, reasoning_content: thought, reasoning, refusal, tool_calls: calls } = delta
  const parts = [content, thought, reasoning, refusal]
  if (Array.isArray(calls)) {
    for (const call of calls) {
      const made = member(call, 'function')
      parts.push(member(made, 'name'), member(made, 'arguments'))
    }
  }
  return parts.filter((part) => typeof part === 'string').join('')
}

/** OpenAI's `usage`; DeepSeek names its cached tokens `prompt_cache_hit_tokens`, OpenRouter those written `cache_write_tokens`. */
function tokensOf(usage: Json): Tokens {
  const { prompt_tokens_details: input, completion_tokens_details: output } = usage
  return {
    source: 'reported',
    input: count(usage.prompt_tokens),
    output: count(usage.completion_tokens),
    cached_input: count(member(input, 'cached_tokens')) ?? count(usage.prompt_cache_hit_tokens),
    cache_write: count(member(input, 'cache_write_tokens')),
    reasoning: count(member(output, 'reasoning_tokens')),
  }
}

/** What may stand in a record as the code of an error; anything else is text, and text may hold anything. */
const CODE = /^[\w.-]{1,64}$/

/** `error` as an object, or as the bare text that some providers send. */
function errorOf(error: unknown): ProviderError {
  const code = [member(error, 'code'), member(error, 'type')].find((each) => each != null)
  const message = member(error, 'message') ?? error
  return {
    message: typeof message === 'string' ? message : JSON.stringify(message),
    code: typeof code === 'number' || (typeof code === 'string' && CODE.test(code)) ? String(code) : null,
    status: typeof code === 'number' && code >= 400 && code < 600 ? code : null,
  }
}

// The OpenAI chat-completions dialect, which most providers speak: OpenAI, Groq, OpenRouter, DeepSeek,
// Mistral, xAI, Together, Ollama, vLLM. Shapes: OpenAI API reference, "Chat" and "Streaming".
import type { ProviderError, Reading, Tokens } from '../call.ts'
import type { Dialect } from './dialect.ts'
import { spliceMembers } from './splice.ts'

type Json = Record<string, unknown>

const isObject = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
const number = (value: unknown): number | null => (typeof value === 'number' ? value : null)
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
    if (!isObject(json)) throw new Error('not a JSON object')
    return { ...read(json), done: true }
  },

  readEvent({ event, data }) {
    if (data.trim() === '[DONE]') return { ...NOTHING, done: true }
    let json: unknown
    try {
      json = JSON.parse(data)
    } catch {
      json = null
    }
    if (!isObject(json))
      return {
        ...NOTHING,
        error: { message: 'the provider sent an event that is not JSON', code: null, status: null },
      }
    const reading = read(json)
    return event === 'error' && !reading.error ? { ...reading, error: errorOf(json) } : reading
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

const NOTHING: Reading = {
  done: false,
  finished: false,
  model: null,
  tokens: null,
  usageOnly: false,
  error: null,
}

function read(json: Json): Reading {
  const { choices, usage, model, error } = json
  const reported = usage ?? member(json.x_groq, 'usage') // Groq puts it there where it was not asked for
  return {
    done: false,
    finished: Array.isArray(choices) && choices.some((choice) => member(choice, 'finish_reason') != null),
    model: typeof model === 'string' ? model : null,
    tokens: isObject(reported) ? tokensOf(reported) : null,
    usageOnly: Array.isArray(choices) && choices.length === 0 && isObject(usage),
    error: error == null ? null : errorOf(error),
  }
}

/** OpenAI's `usage`; DeepSeek names its cached tokens `prompt_cache_hit_tokens`, OpenRouter those written `cache_write_tokens`. */
function tokensOf(usage: Json): Tokens {
  const { prompt_tokens_details: input, completion_tokens_details: output } = usage
  return {
    input: number(usage.prompt_tokens),
    output: number(usage.completion_tokens),
    cached_input: number(member(input, 'cached_tokens')) ?? number(usage.prompt_cache_hit_tokens),
    cache_write: number(member(input, 'cache_write_tokens')),
    reasoning: number(member(output, 'reasoning_tokens')),
  }
}

/** `error` as an object, or as the bare text that some providers send. */
function errorOf(error: unknown): ProviderError {
  const code = member(error, 'code') ?? member(error, 'type')
  const message = member(error, 'message') ?? error
  return {
    message: typeof message === 'string' ? message : JSON.stringify(message),
    code: code == null ? null : String(code),
    status: typeof code === 'number' && code >= 400 && code < 600 ? code : null,
  }
}

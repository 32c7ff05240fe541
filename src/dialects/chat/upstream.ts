// Chat completions on the provider side: OpenAI, Groq, OpenRouter, DeepSeek, Mistral, xAI, Together, Ollama,
// vLLM. Format: OpenAI API reference, "Chat" and "Streaming".
import { EMPTY_EVENT, type ParsedEvent, type Tokens } from '../../core/call.ts'
import { mergeServed } from '../../core/served.ts'
import { type Replacement, spliceMembers } from '../../json/splice.ts'
import type { StreamReader, UpstreamDialect } from '../dialect.ts'
import { withoutForeignReasoning } from '../foreign-reasoning.ts'
import { isObject, type Json, member, tokenCount } from '../json.ts'
import { errorOf, readError } from '../openai-errors.ts'
import { KNOWN_TO_OPENAI, kindsIn, reportedIn, servedIn, tierIn, unknownIn } from '../served.ts'
import type { StreamEvent } from '../stream-event.ts'
import { mergeTokens } from '../usage.ts'
import { withKnownLimit } from './limit-name.ts'
import { optional } from './optional.ts'
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

  readAnswer(text) {
    const json: unknown = JSON.parse(text)
    if (!isObject(json) || (!Array.isArray(json.choices) && json.error == null))
      throw new Error('not a chat answer')
    return { ...read(json), done: true }
  },

  openStream: (): StreamReader => new ChatStream(),

  readError,
} satisfies UpstreamDialect

class ChatStream implements StreamReader {
  #tokens: Tokens | null = null
  /** The service tier. Some servers send it only before the usage. */
  #tier: string | null = null

  read(event: StreamEvent): ParsedEvent {
    const { name, data } = event
    if (data.length < MAX_MARK_LENGTH && data.trim() === '[DONE]') return END_MARK
    const json = event.json()
    if (!isObject(json)) throw new Error('not a JSON object')
    const parsed = read(json)
    this.#tier = tierIn(json) ?? this.#tier
    this.#tokens = mergeTokens(this.#tokens, parsed.tokens)
    if (parsed.tokens !== null) parsed.tokens = this.#tokens && withTier(this.#tokens, this.#tier)
    if (name === 'error') parsed.error ??= errorOf(json)
    return parsed
  }
}

const withTier = (tokens: Tokens, tier: string | null): Tokens =>
  tier === null || tokens.served?.service_tier != null
    ? tokens
    : { ...tokens, served: mergeServed({ service_tier: tier }, tokens.served) }

/** Maximum length of an end mark with its surroundings, in characters. */
const MAX_MARK_LENGTH = 64

/** A stream with only an end mark has no answer, so it has not begun. */
const END_MARK: ParsedEvent = { ...EMPTY_EVENT, done: true, opens: false }

function read(json: Json): Mutable<ParsedEvent> {
  const { usage, model, error } = json
  const choices = Array.isArray(json.choices) ? json.choices : null
  const reported = usage ?? member(json.x_groq, 'usage') // Groq sends unrequested usage here
  let [finished, unusual, text] = [false, false, '']
  for (const choice of choices ?? []) {
    const reason = member(choice, 'finish_reason')
    if (reason != null) {
      finished = true
      unusual ||= !USUAL.includes(reason)
    }
    text += textOf(member(choice, 'delta'))
  }
  return {
    opens: true,
    done: false,
    finished,
    unusual,
    text,
    model: typeof model === 'string' ? model : null,
    tokens: isObject(reported) ? tokensOf(reported, json) : null,
    usageOnly: choices?.length === 0 && isObject(usage),
    error: error == null ? null : errorOf(error),
  }
}

/** Finish reasons of a normal answer. */
const USUAL: unknown[] = ['stop', 'length', 'tool_calls', 'function_call']

/** Returns the text that a delta adds. DeepSeek and Groq use different fields for reasoning. */
function textOf(delta: unknown): string {
  if (!isObject(delta)) return ''
  const { content, reasoning_content: thought, reasoning, refusal, tool_calls: calls } = delta
  let text = asText(content) + asText(thought) + asText(reasoning) + asText(refusal)
  if (Array.isArray(calls)) {
    for (const call of calls) {
      const made = member(call, 'function')
      text += asText(member(made, 'name')) + asText(member(made, 'arguments'))
    }
  }
  return text
}

const asText = (value: unknown): string => (typeof value === 'string' ? value : '')

/**
 * Parses OpenAI's `usage`. DeepSeek reports tokens read from the cache as `prompt_cache_hit_tokens`.
 * OpenRouter reports tokens written to the cache as `cache_write_tokens`.
 */
function tokensOf(usage: Json, answer: Json): Tokens {
  const { prompt_tokens_details: input, completion_tokens_details: output } = usage
  const served = servedIn(
    {
      service_tier: tierIn(answer),
      kinds: kindsIn(input, output),
    },
    unknownIn(usage, KNOWN_TO_OPENAI),
    reportedIn(usage),
  )
  return {
    source: 'reported',
    input: tokenCount(usage.prompt_tokens),
    output: outputOf(usage),
    cached_input: tokenCount(member(input, 'cached_tokens')) ?? tokenCount(usage.prompt_cache_hit_tokens),
    cache_write: tokenCount(member(input, 'cache_write_tokens')),
    reasoning: tokenCount(member(output, 'reasoning_tokens')),
    ...(served && { served }),
  }
}

/** Returns the output tokens, including reasoning. xAI leaves reasoning out of `completion_tokens`. */
function outputOf({ prompt_tokens, completion_tokens, total_tokens, ...usage }: Json): number | null {
  const [input, output, total] = [prompt_tokens, completion_tokens, total_tokens].map(tokenCount)
  const reasoning = tokenCount(member(usage.completion_tokens_details, 'reasoning_tokens'))
  if (output == null) return null
  return reasoning && input != null && total === input + output + reasoning ? output + reasoning : output
}

type Mutable<T> = { -readonly [Key in keyof T]: T[Key] }

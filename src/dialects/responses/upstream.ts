// Responses on the provider side: OpenAI, Azure, xAI, OpenRouter, DeepSeek. Format: OpenAI API reference,
// "Responses" and "Streaming events".
import { EMPTY_EVENT, type ParsedEvent, type ProviderError, type Tokens } from '../../core/call.ts'
import { mergeServed } from '../../core/served.ts'
import { keepElements, omitMembers, spliceMembers } from '../../json/splice.ts'
import type { StreamReader, UpstreamDialect } from '../dialect.ts'
import { withoutForeignReasoning } from '../foreign-reasoning.ts'
import { isObject, type Json, listOrEmpty, member, textOf, tokenCount } from '../json.ts'
import {
  KNOWN_TO_OPENAI,
  kindsIn,
  reportedIn,
  servedIn,
  tierIn,
  toolOf,
  toolsIn,
  unknownIn,
} from '../served.ts'
import type { StreamEvent } from '../stream-event.ts'
import { FAMILY } from './blocks-request.ts'
import { errorIn, failureIn } from './errors.ts'
import { optional } from './optional.ts'
import { isEncrypted } from './traits.ts'
import { tuned } from './tuned.ts'

export const upstream = {
  optional,
  tuned,
  isTooLong: ({ code, message }) =>
    code === 'context_length_exceeded' || /maximum context length|exceeds? the context window/i.test(message),
  // Omits `openai-model`. Codex assumes that an account is flagged if the served model differs from the
  // requested one.
  relayedHeaders: /^(openai-(?!organization$|project$|model$).+|x-request-id|x-ratelimit-.+|x-codex-.+)$/,

  request: requestTo('/responses'),

  countTokens: {
    request(request, model, access) {
      const text = omitMembers(request.text, [
        ['stream'],
        ['store'],
        ['background'],
        ['include'],
        ['max_output_tokens'],
      ])
      return requestTo('/responses/input_tokens')({ ...request, text, stream: false }, model, access)
    },
    isCount(text) {
      try {
        return tokenCount(member(JSON.parse(text), 'input_tokens')) !== null
      } catch {
        return false
      }
    },
  },

  keptAnswer(rest, query, { basePath, key }) {
    const headers = ['accept', 'application/json', 'accept-encoding', 'identity', 'user-agent', 'waybill']
    if (key !== null) headers.push('authorization', `Bearer ${key}`)
    return { path: `${basePath}/responses/${rest}${query && `?${query}`}`, headers, body: '' }
  },

  readAnswer(text) {
    const json: unknown = JSON.parse(text)
    if (!isObject(json)) throw new Error('not an object')
    if (!Array.isArray(json.output)) {
      const error = errorIn(json)
      if (error) return { ...EMPTY_EVENT, done: true, error }
      throw new Error('not a response')
    }
    // A background response also counts as an answer, even if unfinished.
    return { ...readResponse(json, ENDS.includes(textOf(json.status))), done: true }
  },

  openStream: (): StreamReader => new ResponsesStream(),

  readError(text) {
    try {
      return errorIn(JSON.parse(text))
    } catch {
      return null
    }
  },

  withoutRefused({ continues, ...request }, { code }) {
    // The provider has deleted a conversation that the gateway still has.
    if (code === 'previous_response_not_found' && continues) return { ...request, text: continues.text }
    return code === 'invalid_encrypted_content' ? withoutEncrypted(request) : null
  },
} satisfies UpstreamDialect

/** Returns a function that builds requests for a path below the base URL. */
function requestTo(path: string): UpstreamDialect['request'] {
  return ({ text, stream, forwarded, query }, model, { basePath, key, factsOf }) => {
    const isLite = factsOf?.(model, 'responses').responses_lite !== 'no'
    const headers = ['content-type', 'application/json']
    headers.push('accept', stream ? 'text/event-stream' : 'application/json')
    headers.push('accept-encoding', 'identity', 'user-agent', 'waybill')
    headers.push(...(isLite ? forwarded : withoutLiteMarker(forwarded)))
    if (key !== null) headers.push('authorization', `Bearer ${key}`)
    return {
      path: `${basePath}${path}${query && `?${query}`}`,
      headers,
      body: spliceMembers(withoutForeignReasoning(text, FAMILY), { model: JSON.stringify(model) }),
    }
  }
}

/**
 * Removes the header that marks Codex's reduced format. The public format means the same without the header.
 */
const withoutLiteMarker = (forwarded: readonly string[]): string[] =>
  forwarded.filter((_, at) => forwarded[at - (at % 2)] !== 'x-openai-internal-codex-responses-lite')

/**
 * Removes reasoning of another provider; null if the request has none. All other bytes of the client stay
 * unchanged.
 */
function withoutEncrypted(request: Parameters<UpstreamDialect['request']>[0]) {
  const { input } = JSON.parse(request.text)
  if (!Array.isArray(input)) return null
  const isKept = input.map((item) => !(isEncrypted(item) && item.type === 'reasoning'))
  if (isKept.every(Boolean)) return null
  const text = spliceMembers(request.text, {
    // A repeated member may have another value first.
    input: (before = '') => (before.startsWith('[') ? keepElements(before, (at) => isKept[at]!) : before),
  })
  return { ...request, text }
}

/**
 * Final statuses of a response. The event of a final status, like the first event, contains the response
 * itself.
 */
const ENDS = ['completed', 'incomplete', 'failed', 'cancelled']
const PHASES = ['created', 'queued', 'in_progress', ...ENDS]

class ResponsesStream implements StreamReader {
  /** Counted uses of the provider's own tools, since some servers omit the items in the final response. */
  readonly #tools: Record<string, number> = {}

  read(event: StreamEvent): ParsedEvent {
    const { name, data } = event
    if (data.trim() === '[DONE]') return END_MARK // xAI ends every stream with this mark
    // Unknown events are not parsed, because their content is unknown.
    if (name !== '' && name !== 'error' && !name.startsWith('response.')) return EMPTY_EVENT
    const json = event.json()
    if (!isObject(json)) throw new Error('not a JSON object')
    const type = typeof json.type === 'string' ? json.type : name
    if (type === 'error') return { ...EMPTY_EVENT, error: failureIn(json), complete: true }
    const phase = type.slice('response.'.length)
    if (PHASES.includes(phase) && isObject(json.response))
      return this.#withTools(readResponse(json.response, ENDS.includes(phase)))
    if (type.endsWith('.delta') && typeof json.delta === 'string') return { ...EMPTY_EVENT, text: json.delta }
    if (type === 'response.output_item.done') this.#count(toolOf(json.item))
    if (type === 'response.output_item.added') return { ...EMPTY_EVENT, text: nameOf(json.item) }
    // Other servers send `{"error": {…}}`, as OpenAI does before a stream begins.
    return json.type === undefined && json.error != null
      ? { ...EMPTY_EVENT, error: failureIn(json), complete: true }
      : EMPTY_EVENT
  }

  #count(tool: string | null): void {
    if (tool !== null) this.#tools[tool] = (this.#tools[tool] ?? 0) + 1
  }

  #withTools(parsed: ParsedEvent): ParsedEvent {
    const { tokens } = parsed
    if (!tokens || tokens.served?.tools || Object.keys(this.#tools).length === 0) return parsed
    return { ...parsed, tokens: { ...tokens, served: mergeServed(tokens.served, { tools: this.#tools }) } }
  }
}

/** A stream with only an end mark has no answer, so it has not begun. */
const END_MARK: ParsedEvent = { ...EMPTY_EVENT, done: true, opens: false }

function readResponse(response: Json, isOver: boolean): ParsedEvent {
  const { id, status, model, usage, error, store, output, incomplete_details: incomplete } = response
  const isUsual = status === 'completed' || member(incomplete, 'reason') === 'max_output_tokens'
  return {
    ...EMPTY_EVENT,
    finished: isOver,
    complete: isOver,
    unusual: isOver && !isUsual,
    model: typeof model === 'string' ? model : null,
    tokens: isObject(usage) ? tokensOf(usage, response) : null,
    error: status === 'failed' ? failureOf(error) : null,
    // Only stored responses can be continued.
    ...(typeof id === 'string' && store !== false && { responseId: id }),
    ...(isOver && containerIn(output)),
  }
}

/** Returns the container in which a code interpreter or a shell ran. */
function containerIn(output: unknown): { containerId?: string } {
  for (const item of listOrEmpty(output)) {
    const id = member(item, 'container_id') ?? member(member(item, 'environment'), 'container_id')
    if (typeof id === 'string') return { containerId: id }
  }
  return {}
}

const failureOf = (error: unknown): ProviderError =>
  isObject(error) ? failureIn(error) : { message: 'The response failed.', code: null, status: null }

/** Returns the tool's name at the start of a call. */
function nameOf(item: unknown): string {
  const name = member(item, 'name')
  return typeof name === 'string' ? name : ''
}

function tokensOf(usage: Json, response: Json): Tokens {
  const { input_tokens_details: input, output_tokens_details: output } = usage
  const served = servedIn(
    {
      service_tier: tierIn(response),
      kinds: kindsIn(input, output),
      tools: toolsIn(response.output),
    },
    unknownIn(usage, KNOWN_TO_OPENAI),
    reportedIn(usage),
  )
  return {
    source: 'reported',
    input: tokenCount(usage.input_tokens),
    output: tokenCount(usage.output_tokens),
    cached_input: tokenCount(member(input, 'cached_tokens')),
    cache_write: tokenCount(member(input, 'cache_write_tokens')),
    reasoning: tokenCount(member(output, 'reasoning_tokens')),
    ...(served && { served }),
  }
}

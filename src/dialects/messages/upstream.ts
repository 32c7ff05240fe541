// Messages on the provider side: Anthropic and other providers of the same API. Format: Anthropic API
// reference, "Messages", "Streaming", "Versions".
import { EMPTY_EVENT, type ParsedEvent, type ProviderError } from '../../core/call.ts'
import { spliceMembers } from '../../json/splice.ts'
import type { Dialect, StreamReader, UpstreamDialect } from '../dialect.ts'
import { withoutForeignReasoning } from '../foreign-reasoning.ts'
import { isObject, type Json, member, tokenCount } from '../json.ts'
import type { StreamEvent } from '../stream-event.ts'
import { FAMILY } from './blocks-content.ts'
import { errorIn } from './errors.ts'
import { optional } from './optional.ts'
import { tuned } from './tuned.ts'
import { laterUsage, tokensOf, type Usage, usageOf } from './usage.ts'

/** Version sent for clients without a version header. Providers require a version. */
const VERSION = '2023-06-01'

const requestTo =
  (path: string): UpstreamDialect['request'] =>
  ({ text, stream, forwarded, query }, model, { basePath, key }) => {
    const headers = ['content-type', 'application/json']
    headers.push('accept', stream ? 'text/event-stream' : 'application/json')
    headers.push('accept-encoding', 'identity', 'user-agent', 'waybill', ...forwarded)
    if (!forwarded.includes('anthropic-version')) headers.push('anthropic-version', VERSION)
    if (key !== null) headers.push('x-api-key', key)
    return {
      path: `${versioned(basePath)}${path}${query && `?${query}`}`,
      headers,
      body: spliceMembers(withoutForeignReasoning(text, FAMILY), { model: JSON.stringify(model) }),
    }
  }

export const modelList: Dialect['modelList'] = (key) => ({
  path: '/v1/models',
  headers: { 'x-api-key': key, 'anthropic-version': VERSION },
})

export const upstream = {
  optional,
  tuned,
  // Bedrock says "input" in place of "prompt" and adds an introduction before both messages.
  isTooLong: ({ message }) =>
    /^(the model returned the following errors: )?(prompt|input) is too long|exceed context limit/i.test(
      message,
    ),
  // The operator's organization is Anthropic's only private header.
  relayedHeaders: /^(anthropic-(?!organization-id$).+|request-id|x-request-id|x-ratelimit-.+)$/,

  request: requestTo('/messages'),
  countTokens: {
    request: requestTo('/messages/count_tokens'),
    isCount(text) {
      try {
        return tokenCount(member(JSON.parse(text), 'input_tokens')) !== null
      } catch {
        return false
      }
    },
  },

  readAnswer(text) {
    const json: unknown = JSON.parse(text)
    const error = errorIn(json)
    if (error) return { ...EMPTY_EVENT, done: true, error }
    if (!isObject(json) || !Array.isArray(json.content)) throw new Error('not a message')
    const { usage, stop_reason: reason } = json
    const tokens = isObject(usage) ? tokensOf(usageOf(usage), reason) : null
    return {
      ...EMPTY_EVENT,
      done: true,
      finished: reason != null,
      unusual: !USUAL.includes(reason),
      model: modelOf(json),
      tokens,
      ...idsOf(json),
    }
  },

  openStream: (): StreamReader => new MessagesStream(),

  readError(text) {
    try {
      return errorIn(JSON.parse(text))
    } catch {
      return null
    }
  },
} satisfies UpstreamDialect

/**
 * Adds `/v1` unless the base URL ends in a version. Anthropic's clients expect a base URL without a version.
 */
const versioned = (basePath: string): string => (/\/v\d+$/.test(basePath) ? basePath : `${basePath}/v1`)

/** Stop reasons of a normal answer. */
const USUAL: unknown[] = ['end_turn', 'max_tokens', 'stop_sequence', 'tool_use', null, undefined]

const KNOWN = new Set([
  'message_start',
  'content_block_start',
  'content_block_delta',
  'content_block_stop',
  'message_delta',
  'message_stop',
  'error',
])

class MessagesStream implements StreamReader {
  #usage: Usage | null = null

  read(event: StreamEvent): ParsedEvent {
    const { name, data } = event
    if (data.trim() === '[DONE]') return { ...END, opens: false } // some servers close every stream with it
    // Unknown events are not parsed, because their content is unknown.
    if (name !== '' && !KNOWN.has(name)) return name === 'ping' ? PING : EMPTY_EVENT
    const json = event.json()
    if (!isObject(json)) throw new Error('not a JSON object')
    switch (json.type ?? name) {
      case 'ping':
        return PING
      case 'message_start':
        return this.#start(json.message)
      case 'content_block_start':
        return { ...EMPTY_EVENT, text: textIn(json.content_block), model: fallbackIn(json.content_block) }
      case 'content_block_delta':
        return { ...EMPTY_EVENT, text: textIn(json.delta) }
      case 'message_delta':
        return this.#delta(json)
      case 'message_stop':
        return END
      case 'error':
        return { ...EMPTY_EVENT, error: errorIn(json) ?? unworded(json) }
      default:
        return name === 'error' ? { ...EMPTY_EVENT, error: unworded(json) } : EMPTY_EVENT
    }
  }

  /**
   * Reads the first event. The output count of this event covers only the start, and is ignored if no later
   * count follows.
   */
  #start(message: unknown): ParsedEvent {
    const usage = member(message, 'usage')
    if (isObject(usage)) this.#usage = { ...usageOf(usage), output: null }
    const begun = isObject(message) && { model: modelOf(message), ...idsOf(message) }
    return { ...EMPTY_EVENT, ...begun, tokens: this.#tokens() }
  }

  #delta({ delta, usage }: Json): ParsedEvent {
    const reason = member(delta, 'stop_reason')
    if (isObject(usage)) this.#usage = laterUsage(this.#usage, usageOf(usage))
    const [finished, unusual] = [reason != null, !USUAL.includes(reason)]
    const { containerId } = idsOf({ container: member(delta, 'container') })
    const tokens = isObject(usage) ? this.#tokens(reason) : null
    const model = tokens?.served?.model ?? null
    return { ...EMPTY_EVENT, finished, unusual, tokens, model, ...(containerId && { containerId }) }
  }

  #tokens = (reason?: unknown) => this.#usage && tokensOf(this.#usage, reason)
}

const PING: ParsedEvent = { ...EMPTY_EVENT, opens: false }
const END: ParsedEvent = { ...EMPTY_EVENT, done: true }

const modelOf = ({ model }: Json): string | null => (typeof model === 'string' ? model : null)

/** Returns the model to which a call fell back. The stream began with the name of the previous model. */
function fallbackIn(block: unknown): string | null {
  const model = member(block, 'type') === 'fallback' ? member(member(block, 'to'), 'model') : null
  return typeof model === 'string' ? model : null
}

/** Returns the ids of the message and of its container. A thread continues by the message's id. */
function idsOf({ id, container }: Json): { responseId?: string; containerId?: string } {
  const containerId = member(container, 'id')
  return {
    ...(typeof id === 'string' && { responseId: id }),
    ...(typeof containerId === 'string' && { containerId }),
  }
}

/** Returns the text at the start of a block or in a delta. */
function textIn(part: unknown): string {
  if (!isObject(part)) return ''
  const { text, thinking, name, partial_json: json } = part
  return [text, thinking, name, json].filter((each) => typeof each === 'string').join('')
}

/** Converts an error event of an unknown format to an error. */
const unworded = (json: Json): ProviderError => ({
  message: JSON.stringify(json.error ?? json),
  code: null,
  status: null,
})

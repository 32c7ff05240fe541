// Messages on the provider side: Anthropic and other providers of the same API. Format: Anthropic API
// reference, "Messages", "Streaming", "Versions".
import { EMPTY_EVENT } from '../../core/call.ts'
import { spliceMembers } from '../../json/splice.ts'
import { parseExact } from '../../shared/exact-json.ts'
import type { Dialect, StreamReader, UpstreamDialect } from '../dialect.ts'
import { withoutForeignReasoning } from '../foreign-reasoning.ts'
import { isObject, type Json, member, tokenCount } from '../json.ts'
import { FAMILY } from './blocks-content.ts'
import { errorIn } from './errors.ts'
import { optional } from './optional.ts'
import { MessagesReader } from './read.ts'
import { tuned } from './tuned.ts'

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

  readAnswer(text, parts = null) {
    const json: unknown = JSON.parse(text)
    const error = errorIn(json)
    if (error) return { ...EMPTY_EVENT, done: true, error }
    if (!isObject(json) || !Array.isArray(json.content)) throw new Error('not a message')
    return {
      ...new MessagesReader(parts).answer(json, parts ? (parseExact(text) as Json) : json),
      done: true,
    }
  },

  openStream: (parts = null): StreamReader => new MessagesReader(parts),

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

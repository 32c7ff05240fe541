// Responses on the provider side: OpenAI, Azure, xAI, OpenRouter, DeepSeek. Format: OpenAI API reference,
// "Responses" and "Streaming events".
import { EMPTY_EVENT } from '../../core/call.ts'
import { keepElements, omitMembers, type Replacement, spliceMembers } from '../../json/splice.ts'
import { parseExact } from '../../shared/exact-json.ts'
import type { StreamReader, UpstreamDialect } from '../dialect.ts'
import { withoutForeignReasoning } from '../foreign-reasoning.ts'
import { isObject, type Json, member, tokenCount } from '../json.ts'
import { openAiOptional } from '../openai.ts'
import { atMost, inside, levelFor, type OptionalMember, type Tune } from '../optional-members.ts'
import { isEncrypted } from './client.ts'
import { errorIn } from './errors.ts'
import { ResponsesReader } from './read-answer.ts'
import { FAMILY } from './read-request.ts'

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

const LITE_MARKER = 'x-openai-internal-codex-responses-lite'
const LITE_REFUSED = /codex-responses-lite/i

/**
 * Removes the header that marks Codex's reduced format. The public format means the same without the header.
 */
const withoutLiteMarker = (forwarded: readonly string[]): string[] =>
  forwarded.filter((_, at) => forwarded[at - (at % 2)] !== LITE_MARKER)

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

export const optional: readonly OptionalMember[] = [
  ...openAiOptional,
  { path: ['reasoning', 'effort'], whole: ['reasoning'], loss: 'effort', words: /\breasoning.?effort\b/i },
  { path: ['reasoning', 'summary'], loss: 'thinking.display' },
  { path: ['include'], loss: 'thinking.signature', words: /encrypted content is not supported/i },
  { path: ['text', 'verbosity'], loss: 'verbosity' },
]

const EFFORTS = ['none', 'minimal', 'low', 'medium', 'high', 'xhigh']

export const tuned: Tune = (body, { effort, maxOutput }, factsOf) => {
  const facts = factsOf('responses')
  const values: Record<string, Replacement> = {}
  const level = effort === null ? null : levelFor(effort, facts, EFFORTS)
  if (level !== null) values.reasoning = inside({ effort: JSON.stringify(level) })
  if (maxOutput !== null) values.max_output_tokens = atMost(maxOutput)
  return spliceMembers(body, values)
}

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

  readAnswer(text, parts = null) {
    const json: unknown = JSON.parse(text)
    if (!isObject(json)) throw new Error('not an object')
    if (!Array.isArray(json.output)) {
      const error = errorIn(json)
      if (error) return { ...EMPTY_EVENT, done: true, error }
      throw new Error('not a response')
    }
    return {
      ...new ResponsesReader(parts).answer(json, parts ? (parseExact(text) as Json) : json),
      done: true,
    }
  },

  openStream: (parts = null): StreamReader => new ResponsesReader(parts),

  readError(text) {
    try {
      return errorIn(JSON.parse(text))
    } catch {
      return null
    }
  },

  withoutRefused({ continues, ...request }, { code, message }) {
    // A model about which nothing is known receives the marker, and may refuse it.
    if (LITE_REFUSED.test(message) && request.forwarded.includes(LITE_MARKER))
      return { ...request, ...(continues && { continues }), forwarded: withoutLiteMarker(request.forwarded) }
    // The provider has deleted a conversation that the gateway still has.
    if (code === 'previous_response_not_found' && continues) return { ...request, text: continues.text }
    return code === 'invalid_encrypted_content' ? withoutEncrypted(request) : null
  },
} satisfies UpstreamDialect

// Interactions on the provider side: Google's Gemini API. Format: Gemini API reference, "Interactions".
import { EMPTY_EVENT } from '../../core/call.ts'
import { memberText, spliceMembers } from '../../json/splice.ts'
import { parseExact } from '../../shared/exact-json.ts'
import type { ProviderAccess, StreamReader, UpstreamDialect } from '../dialect.ts'
import { withoutForeignReasoning } from '../foreign-reasoning.ts'
import { FAMILY } from '../gemini/read-request.ts'
import { upstream as gemini, withoutVersion } from '../gemini/upstream.ts'
import { isObject, type Json } from '../json.ts'
import type { OptionalMember } from '../optional-members.ts'
import { failureIn, InteractionReader } from './read-answer.ts'
import { tuned } from './write-request.ts'

const headersFor = (
  { key }: Pick<ProviderAccess, 'key'>,
  accept: string,
  forwarded: readonly string[],
): string[] => [
  ...[
    'content-type',
    'application/json',
    'accept',
    accept,
    'accept-encoding',
    'identity',
    'user-agent',
    'waybill',
  ],
  ...forwarded,
  ...(key === null ? [] : ['x-goog-api-key', key]),
]

const PATH = '/v1beta/interactions'

const CONFIG = 'generation_config'

const optional: readonly OptionalMember[] = [
  { path: [CONFIG, 'temperature'], loss: 'sampling.temperature' },
  { path: [CONFIG, 'top_p'], loss: 'sampling.temperature' },
  { path: [CONFIG, 'seed'], loss: 'sampling.seed' },
  { path: [CONFIG, 'thinking_level'], loss: 'effort', words: /\bthinking.?level\b/i, byValue: true },
  { path: [CONFIG, 'thinking_summaries'], loss: 'thinking.display', words: /\bthinking.?summaries\b/i },
  { path: ['labels'], loss: 'metadata' },
  { path: ['service_tier'], loss: 'service_tier' },
]

export const upstream = {
  optional,
  tuned,
  isTooLong: gemini.isTooLong,
  relayedHeaders: gemini.relayedHeaders,
  tierOf: gemini.tierOf,

  request({ text, stream, forwarded, query, path }, model, { basePath, key }) {
    const accept = stream ? 'text/event-stream' : 'application/json'
    const body = withoutForeignReasoning(text, FAMILY)
    // A request names a model or an agent.
    const name = memberText(body, 'agent') === undefined ? 'model' : 'agent'
    return {
      path: `${basePath}${withoutVersion(basePath, path ?? PATH)}${query && `?${query}`}`,
      headers: headersFor({ key }, accept, forwarded),
      body: spliceMembers(body, { [name]: JSON.stringify(model) }),
    }
  },

  keptAnswer: (rest, query, { basePath, key }) => ({
    path: `${basePath}${withoutVersion(basePath, PATH)}/${rest}${query && `?${query}`}`,
    headers: headersFor({ key }, 'application/json', []),
    body: '',
  }),

  readAnswer(text, parts = null) {
    const json: unknown = JSON.parse(text)
    if (!isObject(json)) throw new Error('not an object')
    if (json.status === undefined && isObject(json.error))
      return { ...EMPTY_EVENT, done: true, error: failureIn(json.error) }
    if (typeof json.status !== 'string' || typeof json.id !== 'string') throw new Error('not an interaction')
    const exact = parts ? (parseExact(text) as Json) : json
    return { ...new InteractionReader(parts).answer(json, exact), done: true }
  },

  openStream: (parts = null): StreamReader => new InteractionReader(parts),

  // Google's older form of an error is a list, or has a number as its code.
  readError(text) {
    try {
      const json: unknown = JSON.parse(text)
      const error = isObject(json) ? json.error : null
      return isObject(error) && typeof error.code === 'string' ? failureIn(error) : gemini.readError(text)
    } catch {
      return null
    }
  },
} satisfies UpstreamDialect

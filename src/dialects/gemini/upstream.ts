// Gemini on the provider side: Google's Gemini API, and Vertex AI with a key. Format: Gemini API reference,
// "Generating content".
import { EMPTY_EVENT } from '../../core/call.ts'
import { label } from '../../core/served.ts'
import { memberText, spliceMembers } from '../../json/splice.ts'
import { parseExact } from '../../shared/exact-json.ts'
import type { Dialect, StreamReader, UpstreamDialect } from '../dialect.ts'
import { isObject, type Json, member, tokenCount } from '../json.ts'
import type { OptionalMember } from '../optional-members.ts'
import { errorIn } from './errors.ts'
import { GeminiReader } from './read-answer.ts'
import { tuned } from './write-request.ts'

const requestTo: UpstreamDialect['request'] = (
  { text, stream, forwarded, query, path },
  model,
  { basePath, key },
) => {
  const headers = ['content-type', 'application/json']
  headers.push('accept', stream ? 'text/event-stream' : 'application/json')
  headers.push('accept-encoding', 'identity', 'user-agent', 'waybill', ...forwarded)
  if (key !== null) headers.push('x-goog-api-key', key)
  const asked = path ?? `/v1beta/models/*:${stream ? 'streamGenerateContent' : 'generateContent'}`
  const search = query || (stream ? 'alt=sse' : '')
  const below = withoutVersion(basePath, asked)
  return {
    path: `${basePath}${below.replace('*', () => encoded(model))}${search && `?${search}`}`,
    headers,
    body: withModel(text, model),
  }
}

export const modelList: Dialect['modelList'] = (key) => ({
  path: '/v1beta/models?pageSize=1000',
  headers: { 'x-goog-api-key': key },
})

const VERSION = /\/v\d[a-z\d]*(\/|$)/

/** Returns a path without its version below a base URL that has one. Google's clients expect a base URL without. */
export const withoutVersion = (basePath: string, path: string): string =>
  VERSION.test(basePath) ? path.replace(/^\/\w+/, '') : path

/** Encodes a model's name for the path. Slashes in the name are kept. */
const encoded = (model: string): string => model.split('/').map(encodeURIComponent).join('/')

const NAMES_MODEL = /"(model|generateContentRequest)"\s*:/

/** Replaces the model in the body, and in the request inside a counting request. */
function withModel(text: string, model: string): string {
  if (!NAMES_MODEL.test(text)) return text
  const named = JSON.stringify(`models/${model}`)
  const rename = (json: string): string =>
    memberText(json, 'model') === undefined ? json : spliceMembers(json, { model: named })
  const renamed = rename(text)
  return isObject(JSON.parse(text).generateContentRequest)
    ? spliceMembers(renamed, { generateContentRequest: (whole = '{}') => rename(whole) })
    : renamed
}

const isAnswer = (json: unknown): json is Json =>
  isObject(json) &&
  (isObject(json.response) ||
    Array.isArray(json.candidates) ||
    isObject(json.promptFeedback) ||
    isObject(json.usageMetadata))

const CONFIG = 'generationConfig'
const THINKING = [CONFIG, 'thinkingConfig'] as const

export const optional: readonly OptionalMember[] = [
  { path: [CONFIG, 'temperature'], loss: 'sampling.temperature' },
  { path: [CONFIG, 'topP'], loss: 'sampling.temperature' },
  { path: [CONFIG, 'topK'], loss: 'sampling.top_k' },
  { path: [CONFIG, 'seed'], loss: 'sampling.seed' },
  { path: [CONFIG, 'presencePenalty'], loss: 'sampling.penalties', words: /\bpenalty is not enabled\b/i },
  { path: [CONFIG, 'frequencyPenalty'], loss: 'sampling.penalties', words: /\bpenalty is not enabled\b/i },
  { path: [...THINKING, 'thinkingLevel'], loss: 'effort', words: /\bthinking.?level\b/i, byValue: true },
  {
    path: [...THINKING, 'thinkingBudget'],
    loss: 'thinking.budget',
    words: /\bthinking.?budget\b|\bbudget \d+ is invalid\b/i,
    byValue: true,
  },
  { path: THINKING, loss: 'effort', words: /\bthinking is not (supported|enabled)\b/i },
  { path: ['labels'], loss: 'metadata' },
  { path: ['serviceTier'], loss: 'service_tier' },
]

export const upstream = {
  optional,
  tuned,
  isTooLong: ({ message }) => /input token count .*exceeds the maximum number of tokens/i.test(message),
  relayedHeaders: /^(x-request-id|x-ratelimit-.+|x-gemini-.+)$/,

  // Google may serve a call at the standard tier although another tier was requested. Only this header names the
  // actual tier.
  tierOf: (headers) => label(headers['x-gemini-service-tier']),

  request: requestTo,
  countTokens: {
    request: requestTo,
    isCount(text) {
      try {
        return tokenCount(member(JSON.parse(text), 'totalTokens')) !== null
      } catch {
        return false
      }
    },
  },

  // Without server-sent events, a stream is a list of answers.
  readAnswer(text, parts = null) {
    const json: unknown = JSON.parse(text)
    const error = errorIn(json)
    if (error) return { ...EMPTY_EVENT, done: true, error }
    const answers = Array.isArray(json) ? json : [json]
    if (answers.length === 0 || !answers.every(isAnswer)) throw new Error('not a Gemini answer')
    const exact = parts ? (parseExact(text) as Json | Json[]) : json
    const reader = new GeminiReader(parts)
    const read = [exact].flat().map((answer, at) => reader.answer(answers[at]!, answer as Json))
    const failed = read.find((part) => part.error !== null)
    if (failed) return { ...failed, done: true }
    return {
      ...EMPTY_EVENT,
      done: true,
      finished: read.some(({ finished }) => finished),
      unusual: read.some(({ unusual }) => unusual),
      text: read.map((part) => part.text).join(''),
      model: read.find(({ model }) => model !== null)?.model ?? null,
      tokens: read.findLast(({ tokens }) => tokens !== null)?.tokens ?? null,
    }
  },

  openStream: (parts = null): StreamReader => new GeminiReader(parts),

  readError(text) {
    try {
      return errorIn(JSON.parse(text))
    } catch {
      return null
    }
  },
} satisfies UpstreamDialect

// Gemini on the provider side: Google's Gemini API, and Vertex AI with a key. Format: Gemini API reference,
// "Generating content".
import { EMPTY_EVENT, type ParsedEvent, type Tokens } from '../../core/call.ts'
import { label, type Served } from '../../core/served.ts'
import { memberText, spliceMembers } from '../../json/splice.ts'
import type { Dialect, StreamReader, UpstreamDialect } from '../dialect.ts'
import { isObject, type Json, listOrEmpty, member, tokenCount } from '../json.ts'
import { positive, servedIn, unknownIn } from '../served.ts'
import type { StreamEvent } from '../stream-event.ts'
import { mergeTokens } from '../usage.ts'
import { errorIn } from './errors.ts'
import { optional } from './optional.ts'
import { tuned } from './tuned.ts'

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
  // Google's clients expect a base URL without a version. A base URL with a version is used unchanged.
  const below = VERSION.test(basePath) ? asked.replace(/^\/\w+/, '') : asked
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
  readAnswer(text) {
    const json: unknown = JSON.parse(text)
    const error = errorIn(json)
    if (error) return { ...EMPTY_EVENT, done: true, error }
    const answers = Array.isArray(json) ? json : [json]
    if (answers.length === 0 || !answers.every(isAnswer)) throw new Error('not a Gemini answer')
    const stream = new GeminiStream()
    const parts = answers.map((answer) => stream.readAnswer(answer))
    return {
      ...EMPTY_EVENT,
      done: true,
      finished: parts.some(({ finished }) => finished),
      unusual: parts.some(({ unusual }) => unusual),
      text: parts.map((part) => part.text).join(''),
      model: parts.find(({ model }) => model !== null)?.model ?? null,
      tokens: parts.findLast(({ tokens }) => tokens !== null)?.tokens ?? null,
    }
  },

  openStream: (): StreamReader => new GeminiStream(),

  readError(text) {
    try {
      return errorIn(JSON.parse(text))
    } catch {
      return null
    }
  },
} satisfies UpstreamDialect

const VERSION = /\/v\d[a-z\d]*(\/|$)/

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
  (Array.isArray(json.candidates) || isObject(json.promptFeedback) || isObject(json.usageMetadata))

/** Finish reasons of a normal answer. In a stream, only the last part has one. */
const USUAL: unknown[] = ['STOP', 'MAX_TOKENS', 'FINISH_REASON_UNSPECIFIED', null, undefined]

class GeminiStream implements StreamReader {
  #tokens: Tokens | null = null

  read(event: StreamEvent): ParsedEvent {
    const json = event.json()
    if (!isObject(json)) throw new Error('not a JSON object')
    if (json.error == null) return this.readAnswer(json)
    const unworded = { message: JSON.stringify(json.error), code: null, status: null }
    return { ...EMPTY_EVENT, error: errorIn(json) ?? unworded }
  }

  readAnswer({ candidates, promptFeedback, usageMetadata, modelVersion }: Json): ParsedEvent {
    const all = Array.isArray(candidates) ? candidates : []
    const reasons = all.map((candidate) => member(candidate, 'finishReason'))
    const isBlocked = member(promptFeedback, 'blockReason') != null // no candidate follows
    if (isObject(usageMetadata)) this.#tokens = mergeTokens(this.#tokens, tokensOf(usageMetadata))
    const finished = isBlocked || reasons.some((reason) => reason != null)
    return {
      ...EMPTY_EVENT,
      finished,
      complete: finished && isObject(usageMetadata), // Gemini sends no end mark
      unusual: isBlocked || reasons.some((reason) => !USUAL.includes(reason)),
      text: all.map((candidate) => textOf(member(candidate, 'content'))).join(''),
      model: typeof modelVersion === 'string' ? modelVersion : null,
      tokens: isObject(usageMetadata) ? this.#tokens : null,
    }
  }
}

/** Returns the text of a candidate's parts, including thoughts and arguments of calls. */
function textOf(content: unknown): string {
  const parts = member(content, 'parts')
  if (!Array.isArray(parts)) return ''
  return parts
    .map((part) => {
      const { text, functionCall: call, executableCode: code } = isObject(part) ? part : {}
      if (typeof text === 'string') return text
      if (isObject(call)) return `${call.name}${JSON.stringify(call.args ?? {})}`
      const written = member(code, 'code')
      return typeof written === 'string' ? written : ''
    })
    .join('')
}

/**
 * Parses Google's `usageMetadata`. The candidates' count excludes thoughts, and the prompt's count excludes
 * the input of Google's own tools. Google omits zeros. Without an output count, the output is the total minus
 * the input.
 */
function tokensOf(usage: Json): Tokens {
  const [prompt, toolPrompt, candidates, thoughts, total] = [
    usage.promptTokenCount,
    usage.toolUsePromptTokenCount,
    usage.candidatesTokenCount,
    usage.thoughtsTokenCount,
    usage.totalTokenCount,
  ].map(tokenCount)
  const input = prompt == null ? null : prompt + (toolPrompt ?? 0)
  const written = candidates == null && thoughts == null ? null : (candidates ?? 0) + (thoughts ?? 0)
  const rest = input !== null && total != null && total >= input ? total - input : null
  return {
    source: 'reported',
    input,
    output: written ?? rest,
    cached_input: tokenCount(usage.cachedContentTokenCount),
    cache_write: null,
    reasoning: thoughts ?? null,
    ...servedOf(usage),
  }
}

const KNOWN: ReadonlySet<string> = new Set([
  ...['promptTokenCount', 'toolUsePromptTokenCount', 'candidatesTokenCount', 'thoughtsTokenCount'],
  ...['totalTokenCount', 'cachedContentTokenCount', 'trafficType', 'initialPromptTokenCount', 'serviceTier'],
  ...['promptTokensDetails', 'cacheTokensDetails', 'candidatesTokensDetails', 'toolUsePromptTokensDetails'],
])

/** Parses the details that Google adds to the counts: the traffic type (Vertex AI) and tokens by modality. */
function servedOf(usage: Json): { served?: Served } {
  const of = (modality: string, ...lists: unknown[]) =>
    lists
      .flatMap(listOrEmpty)
      .filter((each) => member(each, 'modality') === modality)
      .reduce((sum: number, each) => sum + (tokenCount(member(each, 'tokenCount')) ?? 0), 0)
  const { promptTokensDetails: prompt, toolUsePromptTokensDetails: tools } = usage
  const { cacheTokensDetails: cached, candidatesTokensDetails: written } = usage
  const isMixed = prompt !== undefined || written !== undefined || tools !== undefined
  const served = servedIn(
    {
      service_tier: label(usage.serviceTier) ?? label(usage.trafficType),
      kinds: isMixed
        ? positive({
            input_audio: of('AUDIO', prompt, tools),
            cached_audio: of('AUDIO', cached),
            output_audio: of('AUDIO', written),
            input_image: of('IMAGE', prompt, tools),
            cached_image: of('IMAGE', cached),
            output_image: of('IMAGE', written),
          })
        : undefined,
    },
    unknownIn(usage, KNOWN),
  )
  return served ? { served } : {}
}

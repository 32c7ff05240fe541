// An invented dialect for the tests. A rule that holds for this dialect holds for any dialect. Unlike chat, it has
// named events, a different member for the model, and usage split over two events. It has its own credentials,
// headers and errors.
import { z } from 'zod'
import { EMPTY_EVENT, type ParsedEvent, type ProviderError, type Tokens } from '../../core/call.ts'
import type { GatewayError } from '../../core/errors.ts'
import { canonical } from '../../json/canonical.ts'
import { spliceMembers } from '../../json/splice.ts'
import type { ClientDialect, Dialect, StreamReader, UpstreamDialect } from '../dialect.ts'
import { errorCode, errorStatus, isObject, type Json, member, tokenCount } from '../json.ts'
import { readFields } from '../request-fields.ts'
import { mergeTokens } from '../served.ts'
import type { StreamEvent } from '../stream-event.ts'

const schema = z.looseObject({
  voice: z.string().min(1).max(256),
  say: z.string(),
  live: z.boolean().optional(),
})

const errorOf = (error: GatewayError, id: string) =>
  JSON.stringify({ toy_error: { kind: error.code, text: error.message, id } })

export const client = {
  name: 'toy',
  path: '/toy/speak',
  summary: 'for tests only',
  schema,
  errorSchema: z.looseObject({}),
  requestIdHeader: 'toy-request-id',
  parse({ text, json, headers, query }) {
    const { voice, live = false, say } = readFields(schema, json)
    const forwarded = Object.entries(headers).flatMap(([name, value]) =>
      name.startsWith('toy-') ? [name, String(value)] : [],
    )
    return {
      request: { model: voice, stream: live, text, wantsUsage: true, forwarded, query },
      traits: { tools: false, images: false, effort: null, inputTokens: say.length },
      sessionHints: [json.who],
    }
  },
  estimateInput: ({ text }) => JSON.parse(text).say.length,
  cacheIdentity: ({ text }) => canonical(text, ['live']),
  errorBody: errorOf,
  errorEvent: (error, id) => `event: error\ndata: ${errorOf(error, id)}\n\n`,
  renameModel: (json, model) => spliceMembers(json, { voice: model }),
} satisfies ClientDialect

export const upstream = {
  relayedHeaders: /^toy-/,
  request({ text, forwarded, query }, model, { basePath, key }) {
    const headers = ['content-type', 'application/json', ...forwarded]
    if (key !== null) headers.push('x-toy-key', key)
    const path = `${basePath}/speak${query && `?${query}`}`
    return { path, headers, body: spliceMembers(text, { voice: JSON.stringify(model) }) }
  },
  readAnswer(text) {
    const json: unknown = JSON.parse(text)
    const error = readToyError(json)
    if (error) return { ...EMPTY_EVENT, error }
    if (!isObject(json) || typeof json.said !== 'string') throw new Error('not a toy answer')
    return { ...EMPTY_EVENT, done: true, finished: true, model: modelOf(json), tokens: tokensOf(json) }
  },
  openStream: (): StreamReader => new ToyStream(),
  readError(text) {
    try {
      return readToyError(JSON.parse(text))
    } catch {
      return null
    }
  },
} satisfies UpstreamDialect

class ToyStream implements StreamReader {
  #tokens: Tokens | null = null

  read(event: StreamEvent): ParsedEvent {
    const { name, data } = event
    const json = event.json()
    if (!isObject(json)) throw new Error('not a JSON object')
    if (name === 'ping') return { ...EMPTY_EVENT, opens: false }
    if (name === 'error')
      return { ...EMPTY_EVENT, error: readToyError(json) ?? { message: data, code: null, status: null } }
    if (name === 'word') return { ...EMPTY_EVENT, text: String(json.w) }
    if (name !== 'begin' && name !== 'end') return EMPTY_EVENT
    this.#tokens = mergeTokens(this.#tokens, tokensOf(json))
    const isEnd = name === 'end'
    return { ...EMPTY_EVENT, done: isEnd, finished: isEnd, model: modelOf(json), tokens: this.#tokens }
  }
}

const modelOf = ({ voice }: Json): string | null => (typeof voice === 'string' ? voice : null)

function tokensOf({ heard, spoken }: Json): Tokens | null {
  if (heard === undefined && spoken === undefined) return null
  const none = { cached_input: null, cache_write: null, reasoning: null }
  return { source: 'reported', input: tokenCount(heard), output: tokenCount(spoken), ...none }
}

function readToyError(json: unknown): ProviderError | null {
  const error = member(json, 'toy_error')
  const text = member(error, 'text')
  if (typeof text !== 'string') return null
  return {
    message: text,
    code: errorCode(member(error, 'kind')),
    status: errorStatus(member(error, 'stands_for')),
  }
}

const modelList: Dialect['modelList'] = (key) => ({ path: '/toy/voices', headers: { 'x-toy-key': key } })

export const toy = { client, upstream, modelList } satisfies Dialect

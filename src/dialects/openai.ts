// Requests, formats and errors that OpenAI's dialects share. Format: OpenAI API reference, "Errors".

import type { ProviderError } from '../core/call.ts'
import type { Losses } from '../core/losses.ts'
import { spliceMembers } from '../json/splice.ts'
import { typedSource } from './accepted.ts'
import type { Format, Source } from './blocks.ts'
import type { Dialect, UpstreamDialect } from './dialect.ts'
import { errorCode, errorStatus, isObject, type Json, member } from './json.ts'
import type { OptionalMember } from './optional-members.ts'

/** Builds a request. Keeps every byte of the client's body except the model. */
export const requestTo =
  (path: string): UpstreamDialect['request'] =>
  ({ text, stream, forwarded }, model, { basePath, key }) => {
    const headers = ['content-type', 'application/json']
    headers.push('accept', stream ? 'text/event-stream' : 'application/json')
    headers.push('accept-encoding', 'identity', 'user-agent', 'waybill', ...forwarded)
    if (key !== null) headers.push('authorization', `Bearer ${key}`)
    return {
      path: `${basePath}${path}`,
      headers,
      body: spliceMembers(text, { model: JSON.stringify(model) }),
    }
  }

export const modelList: Dialect['modelList'] = (key) => ({
  path: '/models',
  headers: { authorization: `Bearer ${key}` },
})

/** Members of chat and Responses requests that may be omitted. */
export const openAiOptional: readonly OptionalMember[] = [
  { path: ['temperature'], loss: 'sampling.temperature' },
  { path: ['top_p'], loss: 'sampling.temperature' },
  { path: ['top_logprobs'], loss: 'logprobs' },
  { path: ['user'], loss: 'safety_identifier' },
  { path: ['safety_identifier'], loss: 'safety_identifier' },
  { path: ['metadata'], loss: 'metadata' },
  { path: ['service_tier'], loss: 'service_tier' },
  { path: ['prompt_cache_key'], loss: 'prompt_cache' },
  { path: ['prompt_cache_retention'], loss: 'prompt_cache' },
]

/** Parses the `error` member: an object, or the bare text that some providers send. */
export function errorOf(error: unknown): ProviderError {
  const code = [member(error, 'code'), member(error, 'type')].find((each) => each != null)
  const message = member(error, 'message') ?? error
  return {
    message: typeof message === 'string' ? message : JSON.stringify(message),
    code: errorCode(code),
    status: errorStatus(code),
    ...paramOf(error),
  }
}

/**
 * Returns the error in a body without an answer; null if it has none. Besides `error`, servers send their message at the
 * top (vLLM, Mistral) or as `detail` (FastAPI).
 */
export function errorIn(json: Json): ProviderError | null {
  if (json.error != null) return errorOf(json.error)
  if (json.object === 'error' || (typeof json.message === 'string' && json.choices === undefined))
    return errorOf(json)
  return json.detail == null || json.choices !== undefined ? null : errorOf({ message: json.detail })
}

/** Returns the field that an error names. */
export function paramOf(error: unknown): { readonly param?: string } {
  const param = member(error, 'param')
  return typeof param === 'string' && param !== '' ? { param } : {}
}

/** Reads the body of an error response; null for any other format. */
export function readError(text: string): ProviderError | null {
  try {
    const error: unknown = member(JSON.parse(text), 'error')
    return isObject(error) && typeof error.message === 'string' ? errorOf(error) : null
  } catch {
    return null
  }
}

/** Reads the format of an answer. `holder`: the object with the schema and its name. */
export function formatIn(format: unknown, holder: unknown, losses: Losses): Format | null {
  const type = member(format, 'type')
  if (format == null || type === 'text') return null
  if (type === 'json_object') return { type: 'json' }
  const { name, schema, strict } = isObject(holder) ? holder : {}
  if (type === 'json_schema' && isObject(schema))
    return {
      type: 'schema',
      name: typeof name === 'string' ? name : null,
      schema,
      strict: typeof strict === 'boolean' ? strict : null,
    }
  losses.add('format')
  return null
}

/** Returns the address of an image, which may contain its data; null if it has none. */
export function imageUrl(given: Source, losses: Losses): string | null {
  const source = typedSource(given)
  if (source.kind === 'url') return source.url
  if (source.kind === 'base64') return `data:${source.mediaType};base64,${source.data}`
  losses.add(source.kind === 'file' ? 'file' : 'image')
  return null
}

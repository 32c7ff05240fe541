// Builds a provider request for an operation: the path below the base URL and the few forwarded headers.
import type { IncomingHttpHeaders } from 'node:http'
import type { Owner } from './operations.ts'

/** Headers that describe the body or the requested part of the answer, for every API. */
const FORWARDED =
  /^(content-type|accept|range|if-range|if-match|if-none-match|if-modified-since|idempotency-key)$/

/**
 * Additional headers of each API that affect the meaning of a request, excluding all credentials.
 */
const OWN: Readonly<Record<Owner, RegExp>> = {
  chat: /^openai-beta$/,
  messages: /^anthropic-(version|beta)$/,
  gemini: /^x-goog-(api-client|upload-[a-z-]+)$/,
}

/** Header for the key in each API. */
const KEY: Readonly<Record<Owner, (key: string) => readonly [string, string]>> = {
  chat: (key) => ['authorization', `Bearer ${key}`],
  messages: (key) => ['x-api-key', key],
  gemini: (key) => ['x-goog-api-key', key],
}

/** Version sent for Messages clients without a version header. Providers require a version. */
const ANTHROPIC_VERSION = ['anthropic-version', '2023-06-01'] as const

/** Returns the client's headers for the provider, as alternating names and values. */
export const forwardedHeaders = (headers: IncomingHttpHeaders, owner: Owner): string[] =>
  Object.entries(headers).flatMap(([name, value]) =>
    value !== undefined && (FORWARDED.test(name) || OWN[owner].test(name)) ? [name, String(value)] : [],
  )

/** Returns all headers of the request except those for the body's length, as alternating names and values. */
export function providerHeaders(forwarded: readonly string[], key: string | null, owner: Owner): string[] {
  const headers = [...forwarded, 'accept-encoding', 'identity', 'user-agent', 'waybill']
  if (owner === 'messages' && !forwarded.includes('anthropic-version')) headers.push(...ANTHROPIC_VERSION)
  if (key !== null) headers.push(...KEY[owner](key))
  return headers
}

/** Response headers for the client, in addition to the headers of every call. */
export const RELAYED_HEADERS =
  /^(content-(length|range|disposition)|accept-ranges|etag|last-modified|(x-)?request-id|openai-processing-ms|x-ratelimit-.+|anthropic-(?!organization-id$).+|x-goog-upload-(?!url$|control-url$).+)$/

/** Returns the path of an operation at a provider. `path`: as the client requested it, with its version. */
export function providerPath(path: string, owner: Owner, basePath: string): string {
  const [, upload = '', version = '', rest = ''] = /^(\/upload)?(\/v\d\w*)(\/.*)$/.exec(path) ?? []
  // OpenAI's and Cohere's clients have the version in the base URL. Providers do the same.
  if (owner === 'chat') return `${version === '/v2' ? basePath.replace(/\/v\d+$/, '/v2') : basePath}${rest}`
  const [, before = basePath, own = version] = /^(.*?)(\/v\d[a-z\d]*)$/.exec(basePath) ?? []
  return `${before}${upload}${own}${rest}`
}

/** Returns a query for the page of a list after an id. */
export function withPage(query: string, after: string | null, owner: Owner): string {
  if (after === null) return query
  const parameters = new URLSearchParams(query)
  parameters.set(owner === 'messages' ? 'after_id' : 'after', after)
  return parameters.toString()
}

// Reads evidence for judges: JSON, JSON pointers, events of a stream, and secrets, each of which was replaced by its name
// when the evidence was written. Dialects interpret the content of answers. Pure.
import { createParser } from 'eventsource-parser'
import { parseWithDigits } from '../../src/shared/exact-json.ts'
import type { Exchange } from './evidence.ts'

/** Maximum depth of objects and lists. */
const MAX_DEPTH = 256
/** Maximum events read from one stream; the longest stream of a check has 10,000. */
const MAX_EVENTS = 100_000
/** Characters passed to the event parser at a time. */
const SLICE_LENGTH = 2 ** 16

/**
 * Returns true if brackets are nested more deeply than in any JSON here: parsing such a text could use all
 * memory.
 */
function isTooDeep(json: string): boolean {
  let depth = 0
  let quoted = false
  for (let at = 0; at < json.length; at++) {
    const sign = json[at]
    if (quoted) {
      if (sign === '\\') at++
      else if (sign === '"') quoted = false
    } else if (sign === '"') quoted = true
    else if (sign === '[' || sign === '{') {
      if (++depth > MAX_DEPTH) return true
    } else if (sign === ']' || sign === '}') depth--
  }
  return false
}

/**
 * Parses a body as JSON; returns undefined if it is not JSON. Ignores a byte order mark, as clients do, and
 * turns an integer that a double cannot hold into a string of its digits, so that ids stay distinct.
 */
export function jsonOf(body: string, parse = parseWithDigits): unknown {
  try {
    const text = body.charCodeAt(0) === 0xfeff ? body.slice(1) : body
    if (text.length > MAX_DEPTH && isTooDeep(text)) return undefined
    return parse(text)
  } catch {
    return undefined
  }
}

/**
 * Returns a JSON text in a form for comparison: ignores the order of fields, white space, escapes and the
 * spelling of numbers, but not their digits. Returns text other than JSON unchanged.
 */
export function jsonValue(json: string): unknown {
  try {
    return JSON.parse(json, (_, value, { source } = { source: '' }) =>
      typeof value === 'number' ? `number ${decimal(source!)}` : value,
    )
  } catch {
    return json
  }
}

/** Writes a JSON number as its digits and a power of ten, equal for all spellings: `1.0`, `1e0` and `1`. */
function decimal(source: string): string {
  const [, sign, whole, fraction = '', power = '0'] = /^(-?)(\d+)(?:\.(\d+))?(?:e([+-]?\d+))?$/i.exec(source)!
  const digits = `${whole}${fraction}`.replace(/^0+/, '')
  const bare = digits.replace(/0+$/, '')
  if (bare === '') return '0'
  return `${sign}${bare}e${Number(power) - fraction.length + digits.length - bare.length}`
}

/**
 * Returns the value at a JSON pointer (RFC 6901), also within JSON that is stored as a string; undefined if
 * absent.
 */
export function at(json: unknown, pointer: string | undefined): unknown {
  if (pointer === undefined) return undefined
  let value = json
  for (const part of pointer.split('/').slice(1)) {
    if (typeof value === 'string') value = jsonOf(value)
    if (typeof value !== 'object' || value === null) return undefined
    value = (value as Record<string, unknown>)[part.replaceAll('~1', '/').replaceAll('~0', '~')]
  }
  return value
}

interface ReadEvent {
  readonly event: string | null
  readonly data: string
}

/** Returns the events of a stream in order, without comments. */
export function readEvents(body: string): ReadEvent[] {
  const events: ReadEvent[] = []
  const parser = createParser({ onEvent: ({ event, data }) => events.push({ event: event ?? null, data }) })
  // A byte order mark is not part of the first line, and a final CR ends a line.
  const text = body.replace(/^\ufeff/, '')
  for (let at = 0; at < text.length && events.length < MAX_EVENTS; at += SLICE_LENGTH)
    parser.feed(text.slice(at, at + SLICE_LENGTH))
  if (body.endsWith('\r')) parser.feed('\n')
  return events
}

/** JSON of unknown shape. */
// biome-ignore lint/suspicious/noExplicitAny: every member is looked at before it is used
export type AnyJson = Record<string, any>

/** Returns the objects of a list; none if it is no list. An answer may hold anything. */
export const objectsIn = (list: unknown): AnyJson[] =>
  Array.isArray(list) ? list.filter((each) => typeof each === 'object' && each !== null) : []

/** U+241E, the picture of a record separator. */
export const SEPARATOR = '\u241e'

const MARK = /\[secret:([\w.-]+)\]/g

const markOf = (name: string): string => `[secret:${name}]`

/** Replaces secrets with their names; `secrets` is name -> value. */
export function withoutSecrets(text: string, secrets: ReadonlyMap<string, string>): string {
  let redacted = text
  for (const [name, secret] of secrets)
    for (const form of formsOf(secret)) redacted = redacted.replaceAll(form, markOf(name))
  return redacted
}

/** Returns a secret in plain form, in URL encoding, and in base64. */
const formsOf = (secret: string): string[] => [
  ...new Set([secret, encodeURIComponent(secret), Buffer.from(secret).toString('base64').replace(/=+$/, '')]),
]

/** Returns the names of the secrets in a response's headers and body. */
export function secretsIn({ headers, body }: Pick<Exchange, 'headers' | 'body'>): string[] {
  return [...new Set([...`${JSON.stringify(headers)}\n${body}`.matchAll(MARK)].map(([, name]) => name!))]
}

/**
 * Returns the names of the provider keys in these requests. A gateway that receives such keys may repeat
 * them.
 */
export const providerKeysIn = (requests: readonly Pick<Exchange['request'], 'headers'>[]): string[] =>
  requests.flatMap(({ headers }) =>
    [...JSON.stringify(headers).matchAll(MARK)]
      .map(([, name]) => name!)
      .filter((name) => /^mock\..+\.key$/.test(name)),
  )

/**
 * Returns the secrets in an answer that its client did not know. `strictly` includes secrets from the
 * request's own query, except in a redirect that repeats this query.
 */
export function secretsGivenAway(
  exchange: Exchange,
  held: readonly string[],
  { strictly = false }: { strictly?: boolean } = {},
): string[] {
  const { location = '', ...headers } = exchange.headers
  const query = exchange.request.path.split('?')[1]
  const inQuery = [...(query ?? '').matchAll(MARK)].map(([, name]) => name!)
  // A redirect that repeats its request's query reveals nothing new.
  const kept = query !== undefined && location.endsWith(`?${query}`)
  const own = strictly ? held : [...held, ...inQuery]
  return secretsIn(kept ? { ...exchange, headers } : exchange).filter((name) => !own.includes(name))
}

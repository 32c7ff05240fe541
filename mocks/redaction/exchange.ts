// Removes everything private from an exchange without changing lengths: structure bytes of a body stay in
// place, so that chunk boundaries survive. Used for live exchanges and foreign recordings. Pure; knows HTTP,
// JSON and event streams. Independent of single providers.

import type { Interaction } from '../import/interaction.ts'
import { isKeptHeader } from '../recording/format.ts'
import { planPieces, type Redaction, redactJson } from './json.ts'
import { longWords, replaceCredentials, type SecretContent } from './leaks.ts'
import { namesItsModels, redactPath } from './paths.ts'
import { blank, createPlaceholders, ID_PREFIXES, isMachineMade, placeholderOf } from './placeholders.ts'
import { isPathWord, isProviderName, isPublicModel, isStructural } from './vocabulary.ts'

/** Exchange that may be stored, and the secrets that it must not contain. */
interface Redacted {
  readonly method: string
  readonly path: string
  /**
   * Size in bytes of each field of the request's JSON body, by name. Names outside the public interface are
   * blanked.
   */
  readonly fields: Readonly<Record<string, number>>
  readonly headers: Readonly<Record<string, string>>
  readonly body: Buffer
  /** Number of bytes of the answer's body that were replaced. */
  readonly replaced: number
  /** Kind of value -> how many were replaced in a kept answer. */
  readonly blanked: ReadonlyMap<string, number>
  /** Private content of the exchange. */
  readonly secrets: SecretContent
}

/** Headers with private values, which redacted exchanges must not contain. */
const PRIVATE_HEADER =
  /auth|key|token|cookie|secret|signature|organi[sz]ation|project|account|workspace|session|tenant|user-id|request-id|cf-ray/

/** Credential headers. Redacted exchanges are searched for their values even if a model has the same name. */
const CREDENTIAL = /^header .*(?:auth|api-key|cookie|secret|signature)/

/** Harmless pieces of values: a recorder's own placeholder, and a date, as in `api-version=2024-10-21`. */
const PUBLIC_PIECE = /^(?:REDACTED|\d{4}-\d\d-\d\d$)/

/** Access key in an AWS signature. */
const ACCESS_KEY_ID = /^AWS4-\S+ Credential=([^/]+)\//

/** Attributes of a cookie, which are not secret. */
const COOKIE_ATTRIBUTE = /^(?:HttpOnly|SameSite)$/i

/** Providers' ids within a text, such as a request's number in an error message. */
const ID_IN_TEXT = new RegExp(`\\b(?:${ID_PREFIXES})[-_](?=\\w{0,60}\\d)(?!REDACTED)\\w{12,}`, 'g')

/**
 * Redacts an exchange. With `keepsAnswer`, the model's words stay, except credentials and the private names
 * in `known` and in the exchange itself. Throws if the answer's body is not UTF-8 text, because it could not
 * be checked.
 */
export function redact(
  exchange: Interaction,
  provider = '',
  {
    keepsAnswer = false,
    known = [] as Iterable<string>,
    /** Model that the request names, wherever it does; its words are public. */
    model = null as string | null,
  } = {},
): Redacted {
  const { method, path, requestBody, responseHeaders, responseBody } = exchange
  const values = new Map(privateValues(exchange))
  const texts: string[] = []
  const models = new Set(model === null ? [] : [model.toLowerCase()])
  const blanked = new Map<string, number>()
  const onReplaced = (kind: string) => blanked.set(kind, (blanked.get(kind) ?? 0) + 1)
  const watch = {
    onBlanked: (text: string) => texts.push(text),
    onModel: (name: string) => models.add(name.toLowerCase()),
    onReplaced,
  }

  const asked = parse(requestBody)
  const ids: string[] = []
  const placeholder = (id: string) => {
    ids.push(id)
    return id
  }
  if (asked !== null)
    redactJson(JSON.stringify(asked), {
      ...watch,
      placeholder,
      listsModels: false,
      namesItsModels: namesItsModels(provider),
    })
  else if (requestBody !== null) texts.push(requestBody)
  const answer = redactAnswer(
    { method, path, headers: responseHeaders, body: responseBody, provider, keepsAnswer },
    watch,
  )
  for (const id of [...ids, ...answer.ids])
    if (id.length >= 12 && placeholderOf(id) !== id && (!keepsAnswer || isMachineMade(id)))
      values.set(id, 'an id')
  const names: string[] = []
  const kept = redactPath(path, provider, (name) => names.push(name))
  for (const name of names) if (isTelling(name)) values.set(name, 'a name in the path')
  for (const [value, what] of values)
    if (models.has(value.toLowerCase()) && !CREDENTIAL.test(what)) values.delete(value)
  const body = keepsAnswer
    ? Buffer.from(withoutValues(answer.body.toString(), [...known, ...values.keys()], onReplaced))
    : answer.body
  return {
    method,
    path: kept,
    fields: asked === null ? {} : fieldsOf(asked),
    headers: answer.headers,
    body,
    replaced: body.reduce((sum, byte, at) => sum + Number(byte !== responseBody[at]), 0),
    blanked,
    secrets: { values, words: wordsOf(texts, models) },
  }
}

/** Replaces private values in a text of the model with text of the same length. */
export function withoutValues(
  whole: string,
  values: Iterable<string>,
  onReplaced: (kind: string) => void = () => {},
): string {
  let text = whole
  for (const value of values) {
    if (COOKIE_ATTRIBUTE.test(value)) continue
    const replacement = placeholderOf(value)
    const same = Buffer.byteLength(replacement) === Buffer.byteLength(value)
    for (const written of new Set([value, JSON.stringify(value).slice(1, -1)])) {
      if (!text.includes(written)) continue
      text = text.replaceAll(written, same && written === value ? replacement : blank(written))
      onReplaced('private values')
    }
  }
  return text
}

/**
 * Parts of an answer that redaction needs. A stored recording has the same parts, and redacting it again
 * changes nothing.
 */
interface RedactableAnswer {
  readonly method: string
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: Uint8Array
  /** The provider's folder in `recordings`; absent if all customers use the same model names. */
  readonly provider?: string
  /** True if the model's words are preserved. */
  readonly keepsAnswer?: boolean
}

type Watch = Pick<Redaction, 'onBlanked' | 'onModel' | 'onReplaced'>

/** Redacts the body and the stored headers, and returns them with the original ids. Throws like `redact`. */
export function redactAnswer(
  { method, path, headers, body, provider = '', keepsAnswer = false }: RedactableAnswer,
  watch: Watch = { onBlanked: () => {}, onModel: () => {} },
  place = createPlaceholders(),
): { readonly headers: Record<string, string>; readonly body: Buffer; readonly ids: readonly string[] } {
  const ids: string[] = []
  const placeholder = (id: string) => {
    ids.push(id)
    return place(id)
  }
  const redaction: Redaction = {
    ...watch,
    placeholder,
    keep: keepsAnswer ? (text) => withoutCredentials(text, placeholder, watch.onReplaced) : undefined,
    listsModels: method === 'GET' && /(^|\/)models(\/|$)/.test(path),
    namesItsModels: namesItsModels(provider),
  }
  const kept = Object.entries(headers).filter(([name]) => isKeptHeader(name))
  return {
    headers: Object.fromEntries(kept.map(([name, value]) => [name, redactHeader(name, value, redaction)])),
    body: Buffer.from(redactText(decode(body), redaction)),
    ids,
  }
}

/** Replaces credentials, and providers' ids, in a text of the model. */
function withoutCredentials(
  text: string,
  placeholder: (id: string) => string,
  onReplaced: (kind: string) => void = () => {},
): string {
  const counted = (kind: string, change: (found: string) => string) => (found: string) => {
    onReplaced(kind)
    return change(found)
  }
  return replaceCredentials(text, counted('credentials', blank)).replace(
    ID_IN_TEXT,
    counted('ids', placeholder),
  )
}

function decode(body: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(body)
  } catch {
    throw new Error('the answer is not UTF-8 text')
  }
}

/** Redacts a whole JSON value. Redacts any other body line by line: events, JSON lines, or plain text. */
function redactText(text: string, redaction: Redaction): string {
  if (isJson(text)) return redactJson(text, redaction)
  const lines = text.match(/[^\r\n]+/g) ?? []
  const events = lines.map((line) => partsOf(line).value).filter(isEvent)
  const streamed = { ...redaction, nextPiece: planPieces(events) }
  return text.replace(/[^\r\n]+/g, (line) => redactLine(line, streamed))
}

/** Splits a line of a stream into the field with its punctuation, and the value. */
function partsOf(line: string): { readonly field: string; readonly value: string } {
  const [, field = '', value = line] = /^(\s*(?:data|event|id|retry)?: ?)(.*)$/.exec(line) ?? []
  return { field, value }
}

const isEvent = (value: string): boolean => /^\s*[{[]/.test(value) && isJson(value)

function redactLine(line: string, redaction: Redaction): string {
  const { field, value } = partsOf(line)
  if (isEvent(value)) return field + redactJson(value, redaction)
  const kept = /^\s*data/.test(field)
    ? value === '[DONE]'
    : /^\s*retry/.test(field)
      ? /^\d+$/.test(value)
      : field !== '' && value.split(' ').every(isStructural)
  if (kept) return line
  if (redaction.keep) return field + redaction.keep(value)
  redaction.onBlanked(value)
  return field + blank(value)
}

/**
 * Redacts a header. Values on which clients act stay if they have the expected form; all other values are
 * blanked.
 */
function redactHeader(name: string, value: string, redaction: Redaction): string {
  if (name.endsWith('-id') && /^[\x21-\x7e]+$/.test(value)) return redaction.placeholder(value)
  const form =
    name === 'content-type'
      ? /^[a-z]+\/[a-z0-9.+-]+(; ?charset=[\w-]+)?$/i
      : name === 'cache-control'
        ? /^[a-z-]+(=\d+)?(, ?[a-z-]+(=\d+)?)*$/
        : /^(?:true|false|[\d.:TZhms+-]{1,40}|\w{3}, \d\d \w{3} \d{4} [\d:]{8} GMT)$/
  return form.test(value) ? value : blank(value)
}

/** Returns true if a name is too long for an ordinary word and is not a word of an interface. */
const isTelling = (name: string): boolean => name.length >= 8 && !isStructural(name) && !isPathWord(name)

function fieldsOf(asked: Readonly<Record<string, unknown>>): Record<string, number> {
  const fields: Record<string, number> = {}
  for (const [name, value] of Object.entries(asked)) {
    const key = isStructural(name) ? name : blank(name)
    fields[key] = (fields[key] ?? 0) + Buffer.byteLength(JSON.stringify(value))
  }
  return fields
}

/** Returns pieces of headers and query values that may be credentials or account names, each with its place. */
function privateValues({ url, requestHeaders, responseHeaders }: Interaction): [string, string][] {
  const headers = [...Object.entries(requestHeaders), ...Object.entries(responseHeaders)]
    .filter(([name]) => PRIVATE_HEADER.test(name) && (name.endsWith('-id') || !isKeptHeader(name)))
    .map(([name, value]) => [`header ${name}`, value] as const)
  const query = [...new URLSearchParams(url.split('?')[1])].map(
    ([name, value]) => [`query ${name}`, value] as const,
  )
  return [...headers, ...query].flatMap(([place, value]) =>
    [...value.split(/[\s;,=]+/), ...(ACCESS_KEY_ID.exec(value)?.slice(1) ?? [])]
      .filter((piece) => piece.length >= 8 && !isStructural(piece) && !PUBLIC_PIECE.test(piece))
      .filter((piece) => CREDENTIAL.test(place) || !isPublicName(piece))
      .map((piece): [string, string] => [piece, place]),
  )
}

/** Returns true for a value that says nothing about a customer: a public model, a provider, a word of addresses, a type. */
const isPublicName = (value: string): boolean =>
  isPublicModel(value) ||
  isProviderName(value) ||
  isPathWord(value) ||
  /^(?:application|audio|image|text|video)\/[a-z0-9.+-]+$/.test(value)

/**
 * Returns words of at least 8 letters, in lower case, that are not words of the interfaces or model names.
 */
function wordsOf(texts: readonly string[], models: ReadonlySet<string>): Set<string> {
  const words = new Set<string>()
  for (const text of texts)
    for (const word of longWords(text))
      if (!isStructural(word) && !/^x+$/i.test(word)) words.add(word.toLowerCase())
  for (const model of models) for (const word of longWords(model)) words.delete(word)
  return words
}

function parse(body: string | null): Record<string, unknown> | null {
  try {
    const json: unknown = JSON.parse(body ?? '')
    return typeof json === 'object' && json !== null && !Array.isArray(json)
      ? (json as Record<string, unknown>)
      : null
  } catch {
    return null
  }
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}

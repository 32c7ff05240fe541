// Turns a live or foreign exchange into a recording that may be shared: redacts it, names it, and refuses it
// if a secret is left. Knows redaction and the format. Independent of the exchange's source.
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { Interaction } from '../import/interaction.ts'
import { classify } from '../matching/classify.ts'
import type { Digester, Said } from '../matching/digest.ts'
import { endpointOf } from '../provider.ts'
import { providers } from '../providers/registry.ts'
import { redact, withoutValues } from '../redaction/exchange.ts'
import { joinedPieces } from '../redaction/json.ts'
import {
  findCredential,
  findValue,
  findWord,
  replaceCredentials,
  type SecretContent,
} from '../redaction/leaks.ts'
import { deploymentName } from '../redaction/paths.ts'
import { blank, placeholderOf } from '../redaction/placeholders.ts'
import { isPathWord, isSecretName, isStructural } from '../redaction/vocabulary.ts'
import type { Recording, RecordingHead } from './format.ts'
import { hideFolder, withoutFolder } from './replay.ts'

/** Facts that the exchange itself does not contain. */
interface RecordingSource {
  readonly provider: string
  /** Base path of the provider, without a trailing slash; the endpoint follows. */
  readonly basePath: string
  /** `[bytes, ms before it]` of each chunk of the body. */
  readonly chunks: readonly (readonly [number, number])[]
  /** YYYY-MM-DD */
  readonly date: string
  readonly apiVersion: string
  readonly shape: string
  readonly note?: string
  /** Scenario; derived from the exchange if absent. */
  readonly scenario?: string
  /** Keys and planted texts that the recording must not contain, in addition to the exchange's own secrets. */
  readonly secrets: Iterable<string>
  /** Settings of stored answers; absent if the answer's text is blanked. */
  readonly keep?: Keep | undefined
}

/** Settings for a recording that stores its answer and is found by its request's content. */
export interface Keep {
  readonly digester: Digester
  /** True if the masked texts of the request are also stored. */
  readonly text: boolean
  /** True if the whole request is stored, to be sent again. */
  readonly request: boolean
  /** Time of the request, ms since the epoch. */
  readonly at: number
  /** Folder in which the program runs; a placeholder replaces it in the answer. */
  readonly folder?: string
}

/** Kinds of values that were replaced although an answer is kept, and how many. */
export type Blanked = Readonly<Record<string, number>>

/** Kind of what was blanked in an exchange that is no call to a model. */
const NO_CALL = 'no call to a model'

/** Returns true for a kind that a recording may name. */
export const isBlankedKind = (kind: string): boolean =>
  /^(?:ids|accounts|credentials|private values|private names of models)$/.test(kind) ||
  kind === NO_CALL ||
  (/^(?:sealed|echoed) \w+$/.test(kind) && isStructural(kind.split(' ')[1]!))

/** Words what was blanked, the most frequent first: `12 ids, 2 sealed signature`; empty if nothing was. */
export function wordBlanked(each: readonly Blanked[]): string {
  const sums = new Map<string, number>()
  for (const blanked of each)
    for (const [kind, count] of Object.entries(blanked)) sums.set(kind, (sums.get(kind) ?? 0) + count)
  return [...sums]
    .sort(([, a], [, b]) => b - a)
    .map(([kind, count]) => `${count} ${kind}`)
    .join(', ')
}

/** Recording without a name. */
export interface Draft {
  readonly head: RecordingHead
  readonly bytes: Uint8Array
  readonly secrets: SecretContent
}

/**
 * Splits a body with unknown chunks: a stream has one chunk for each event, any other body only one chunk.
 * Adds no waits.
 */
export function chunksByEvent(body: Buffer): [number, number][] {
  if (!/^\s*(?::|data:|event:|id:|retry:)/.test(body.toString('utf8', 0, 100))) return [[body.length, 0]]
  const pieces = body.toString('latin1').match(/[\s\S]*?(?:\r\n\r\n|\n\n|\r\r|$)/g) ?? []
  return pieces.filter((piece) => piece !== '').map(({ length }) => [length, 0])
}

/**
 * Scenarios that a live request may have. Any other scenario could come from the name of a private model,
 * which could reveal something.
 */
const TURN = /^(?:plain|tools|\d{3})$/

/** Returns true for an API version in a usual format. Any other value could be private. */
export const isVersion = (version: string): boolean =>
  /^(?:not named|preview|latest|v\d[a-z\d.]{0,12}|\d{4}-\d\d-\d\d(?:-preview)?)$/.test(version)

/** Operations that only interfaces to models have, at any address. */
const OPERATION =
  /(?:^|\/)(?:chat\/completions|completions|responses|embed|embeddings|models|rerank|moderations|detokenize|converse(?:-stream)?|invoke(?:-with-response-stream)?|(?:images|audio|videos)\/[\w-]+)(?:\/[\w-]+)?$|:[a-z]*(?:generate|predict|embed|countTokens)\w*$/i
/** Parts of paths of logins, accounts and telemetry. */
const OTHER =
  /(?:^|[/.-])(?:log-?in|log-?out|sign-?in|sign-?up|auth(?:orize|enticate)?|oauth2?|tokens?|access_tokens?|session|client_secrets|credentials|api_?keys|admin|organizations?|users?|me|telemetry|events?|event_logging|metrics|track|analytics|collect|statsig|sentry|envelope|traces)(?:$|[/_.-])/i

/** Methods of the Model Context Protocol. */
const MCP = /^(?:initialize|ping|(?:tools|resources|prompts|completion|logging|notifications)\/[\w/]+)$/

/** Returns true for a message to an MCP server, whose answer becomes a part of the next call to a model. */
const isForTools = (body: string | null): boolean =>
  [parsed(body) as JsonRpc | JsonRpc[] | null | undefined]
    .flat()
    .some((message) => message?.jsonrpc === '2.0' && MCP.test(String(message.method)))

interface JsonRpc {
  readonly jsonrpc?: unknown
  readonly method?: unknown
}

/**
 * Returns true if an exchange is a call to a model, to what its provider stores for one, or to an MCP server. A login,
 * telemetry or a page is none. A path that says both is a call if the request names a model.
 */
function isModelCall(
  { method, path, requestBody }: Interaction,
  provider: string,
  below: string,
  model: string | null,
): boolean {
  const stand = providers.find(({ name }) => name === provider)
  if (isForTools(requestBody) || (stand && endpointOf(stand, method, below))) return true
  const namesModel = model !== null && requestBody !== null
  if (OTHER.test(path)) return namesModel && OPERATION.test(path)
  return namesModel || OPERATION.test(path) || stand !== undefined
}

/** Makes the recording of an exchange. Throws if the body is missing or is not text. */
export function draftRecording(exchange: Interaction, source: RecordingSource): Draft {
  if (exchange.method !== 'GET' && exchange.method !== 'POST')
    throw new Error(`a recording answers GET or POST, not ${exchange.method}`)
  if (exchange.responseBody.length === 0) throw new Error('the answer has no body')
  const { provider, basePath } = source
  const below = exchange.path.slice(basePath.length)
  const asked = classify({
    ...{ provider, method: exchange.method, path: below },
    ...{ body: exchange.requestBody, headers: exchange.requestHeaders },
  })
  const isCall = isModelCall(exchange, provider, below.replace(/^\//, ''), asked.model)
  const keep = isCall ? source.keep : undefined
  // An Azure deployment is named by its owner, even if the configuration gives the provider another name.
  const atAzure = /\.azure\.com(?::\d+)?$/i.test(exchange.host)
  const { method, path, fields, headers, secrets, ...redacted } = redact(
    exchange,
    atAzure ? 'azure' : provider,
    { keepsAnswer: keep !== undefined, known: source.secrets, model: asked.model },
  )
  const blanked = source.keep && !isCall ? { [NO_CALL]: 1 } : Object.fromEntries(redacted.blanked)
  const folder = keep?.folder
  const { body, found } =
    folder === undefined ? { body: redacted.body, found: 0 } : hideFolder(redacted.body, folder)
  const values = new Map([
    ...secrets.values,
    ...Array.from(source.secrets, (value) => [value, 'a known secret'] as const),
  ])
  const said = keep && exchange.method === 'POST' ? saidIn(exchange, keep, values) : null
  const kept = keep?.request ? askedIn(exchange, values, folder) : null
  const head: RecordingHead = {
    format: keep ? 2 : 1,
    provider,
    endpoint: asked.endpoint,
    request: {
      method: method as 'GET' | 'POST',
      path,
      model: asked.model !== null && atAzure ? deploymentName(asked.model) : asked.model,
      stream: method === 'GET' ? null : asked.stream,
      scenario: source.scenario ?? (TURN.test(asked.scenario) ? asked.scenario : 'plain'),
      ...(Object.keys(fields).length > 0 && { fields }),
      ...(said && { said }),
      ...(kept && { asked: kept }),
    },
    response: {
      status: exchange.status,
      headers,
      body: 'unnamed',
      chunks: source.chunks.map(([bytes, ms]) => [bytes, Math.round(ms)]),
    },
    origin: 'recorded',
    date: source.date,
    api_version: isVersion(source.apiVersion) ? source.apiVersion : 'not named',
    shape: source.shape,
    ...(source.note !== undefined && { note: source.note }),
    redaction: {
      version: 1,
      ...(keep && { keeps: 'answer' as const }),
      ...(source.keep && Object.keys(blanked).length > 0 && { blanked }),
      ...(found > 0 && { folder: Buffer.byteLength(folder!) }),
      replaced: redacted.replaced + found * Buffer.byteLength(folder ?? ''),
      looked_for: values.size + secrets.words.size,
      found: 0,
    },
  }
  return { head, bytes: body, secrets: { values, words: secrets.words } }
}

/** Digests the content of a request. With `text`, also stores the text, without private parts. */
function saidIn(
  { requestBody }: Interaction,
  { digester, text, at }: Keep,
  values: SecretContent['values'],
): Said | null {
  const digested = digester(parsed(requestBody), at, (part) => withoutValues(part, values.keys()))
  if (!digested || !text) return digested?.said ?? null
  const clean = (part: string) =>
    [...values.keys()].reduce(
      (rest, value) => rest.replaceAll(value, blank(value)),
      replaceCredentials(part, blank),
    )
  const parts = digested.said.parts.map((part, i) => ({ ...part, text: clean(digested.texts[i]!) }))
  return { ...digested.said, parts }
}

/** Request headers that can change the answer. */
const isAskedHeader = (name: string): boolean => /^(?:anthropic-(?:version|beta)|openai-beta)$/.test(name)

/** Returns the whole request, with placeholders for private parts and the program's folder. */
function askedIn(
  { requestBody, requestHeaders }: Interaction,
  values: SecretContent['values'],
  folder: string | undefined,
): RecordingHead['request']['asked'] | null {
  const body = parsed(requestBody)
  if (typeof body !== 'object' || body === null || Array.isArray(body)) return null
  const clean = (text: string) =>
    [...values.keys()].reduce(
      (rest, value) => rest.replaceAll(value, placeholderOf(value)),
      replaceCredentials(folder === undefined ? text : withoutFolder(text, folder), blank),
    )
  const cleaned = JSON.stringify(body, (name, value) =>
    typeof value !== 'string' ? value : isSecretName(name) ? blank(value) : clean(value),
  )
  const headers = Object.entries(requestHeaders).filter(([name]) => isAskedHeader(name))
  return { headers: Object.fromEntries(headers), body: JSON.parse(cleaned) }
}

const parsed = (text: string | null): unknown => {
  try {
    return JSON.parse(text ?? '')
  } catch {
    return undefined
  }
}

/**
 * Writes a recording below `dir` without overwriting others, and returns its name. The second recording of a
 * kind answers the second request, and so on. Throws and writes nothing if the recording would contain a
 * secret.
 */
export function writeRecording(dir: string, { head, bytes, secrets }: Draft): string {
  const folder = join(dir, head.provider)
  const stem = freeStem(folder, head)
  const isTaken = (order: number) =>
    [`${nameOf(stem, order)}.json`, `${nameOf(stem, order)}${suffixOf(head)}`].some((file) =>
      existsSync(join(folder, file)),
    )
  for (let order = firstFree(isTaken); ; order++) {
    const name = nameOf(stem, order)
    const request = { ...head.request, ...(order > 1 && { order }) }
    const body = `${name}${suffixOf(head)}`
    const json = `${compact(JSON.stringify({ ...head, request, response: { ...head.response, body } }, null, 2))}\n`
    refuseSecrets(head, json, bytes, secrets)
    mkdirSync(folder, { recursive: true, mode: 0o700 })
    // Exclusive flag: never overwrites a file. Writes the JSON file last, because it is worthless without a
    // body.
    try {
      writeFileSync(join(folder, body), bytes, { flag: 'wx', mode: 0o600 })
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'EEXIST') continue
      throw error
    }
    try {
      writeFileSync(join(folder, `${name}.json`), json, { flag: 'wx', mode: 0o600 })
    } catch (error) {
      rmSync(join(folder, body))
      if ((error as NodeJS.ErrnoException).code === 'EEXIST') continue
      throw error
    }
    return `${head.provider}/${name}`
  }
}

/**
 * Writes a newer answer below `dir` with the name and the request of a recording. Replaces the recording if
 * it is there. Returns the new recording.
 */
export function writeAs(dir: string, { name, request, response }: Recording, answer: Recording): Recording {
  const { name: _, bytes, ...head } = answer
  const place = join(dir, name)
  const body = `${name.slice(name.lastIndexOf('/') + 1)}${suffixOf(head)}`
  const written = { ...head, request, response: { ...head.response, body } }
  mkdirSync(dirname(place), { recursive: true, mode: 0o700 })
  if (response.body !== body) rmSync(join(dirname(place), response.body), { force: true })
  writeFileSync(join(dirname(place), body), bytes, { mode: 0o600 })
  writeFileSync(`${place}.json`, `${compact(JSON.stringify(written, null, 2))}\n`, { mode: 0o600 })
  return { ...written, name, bytes }
}

/**
 * Returns the stem of a recording, or a longer stem if another kind of request uses it, because turns are
 * counted by kind.
 */
function freeStem(folder: string, head: RecordingHead): string {
  const [short, long] = stemsOf(head)
  try {
    const there = JSON.parse(readFileSync(join(folder, `${short}.json`), 'utf8'))
    return kindOf(there) === kindOf(head) ? short : long
  } catch {
    return short // missing file, or not a recording
  }
}

const kindOf = ({ endpoint, request }: Pick<RecordingHead, 'endpoint' | 'request'>): string =>
  JSON.stringify([endpoint, request.method, request.model, request.stream, request.scenario])

const nameOf = (stem: string, order: number): string => (order === 1 ? stem : `${stem}-${order}`)

/**
 * Finds the first free number by doubling, then halving, because trying every number would be slow for large
 * counts.
 */
function firstFree(isTaken: (order: number) => boolean): number {
  let high = 1
  while (isTaken(high)) high *= 2
  let low = Math.floor(high / 2) // taken, or 0
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2)
    if (isTaken(middle)) low = middle
    else high = middle
  }
  return high
}

function refuseSecrets(
  head: RecordingHead,
  json: string,
  bytes: Uint8Array,
  { values, words }: SecretContent,
): void {
  const body = Buffer.from(bytes).toString()
  const refuse = (reason: string) => {
    throw new Error(`not written, because ${reason}`)
  }
  const kept = head.redaction?.keeps !== undefined
  // A stream may split a secret in two, so the joined text is also searched.
  const whole = kept ? joinedPieces(body) : ''
  const { provider, endpoint, request, response } = head
  for (const [where, text, ours] of [
    // The names and fixed words of the head say nothing about the exchange.
    ['head', json, leavesOf([provider, endpoint, request, Object.values(response.headers)]).join('\n')],
    ['body', body, body],
    ['text, joined,', whole, whole],
  ] as const) {
    const found = findCredential(text)
    if (found)
      refuse(`its ${where} contains what looks like a credential (${found.form}) at byte ${found.at}`)
    const value = findValue(ours, values)
    if (value) refuse(`its ${where} contains a secret: ${value}`)
  }
  const { path, model, fields } = head.request
  // Words of addresses may stand in an answer, too.
  const told = [...words].filter((each) => !isPathWord(each))
  const word =
    findWord(kept ? '' : body, words) ??
    findWord(JSON.stringify([head.endpoint, path, model, fields]), new Set(told))
  if (word) refuse(`a word of the prompt or the answer is left: ${JSON.stringify(word)}`)
}

/** Returns all texts of a value, and the names of its members, without digests. */
function leavesOf(value: unknown): string[] {
  if (typeof value !== 'object' || value === null) return typeof value === 'string' ? [value] : []
  return Object.entries(value).flatMap(([name, inner]) => [
    ...(Array.isArray(value) ? [] : [name]),
    ...leavesOf(inner),
  ])
}

/**
 * Puts each chunk, and each part of the content, on one line instead of four. Texts in these parts have no
 * line breaks.
 */
const compact = (json: string): string =>
  json
    .replace(/\[\n\s+(\d+),\n\s+([\d.]+)\n\s+\]/g, '[$1, $2]')
    .replace(/\{\n\s+("role": [^{}]*?)\n\s+\}/g, (_, members) => `{ ${members.replaceAll(/\n\s+/g, ' ')} }`)

const slug = (text: string): string => text.replace(/[^\w.-]+/g, '-').replace(/^-+|-+$/g, '')

/**
 * Returns two stems that describe the request, such as `chat-completions-gpt-5-mini-tools-stream`. Two kinds
 * may get the same first stem, because names are truncated and normalised; the second stem distinguishes
 * them.
 */
export function stemsOf(head: Pick<RecordingHead, 'endpoint' | 'request'>): readonly [string, string] {
  const { model, scenario, stream } = head.request
  const named = model !== null && !head.endpoint.includes(model) && model
  const parts = [head.endpoint, named, scenario, stream && 'stream']
  const stem = slug(parts.filter(Boolean).join('-')).slice(0, 120)
  return [stem, `${stem}-${createHash('sha256').update(kindOf(head)).digest('hex').slice(0, 6)}`]
}

function suffixOf({ response: { headers } }: RecordingHead): string {
  const type = headers['content-type'] ?? ''
  if (/event-stream/.test(type)) return '.sse'
  return /json/.test(type) ? '.body.json' : '.txt'
}

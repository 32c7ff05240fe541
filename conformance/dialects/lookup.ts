// All dialects by name, and lookups in evidence for judges: the dialect of a call, its ledger entries, the names of a
// provider, the records of a log. Pure.
import { type LedgerEntry, lastNonceIn, writeNonce } from '../../mocks/ledger.ts'
import type { Evidence, Exchange } from '../evidence/evidence.ts'
import { at, jsonOf, readEvents } from '../evidence/reading.ts'
import type { Target } from '../target/schema.ts'
import { chat, embeddings, pictures } from './chat.ts'
import { areDifferent, type Dialect, type DialectName, type Reading } from './dialect.ts'
import { gemini } from './gemini.ts'
import { stepwise } from './interactions.ts'
import { messages } from './messages.ts'
import { responses } from './responses.ts'

export const dialects: Readonly<Record<DialectName, Dialect>> = {
  ...{ chat, messages, responses, gemini, interactions: stepwise, embeddings, images: pictures },
}

const all = Object.values(dialects)

/** Matches the end of a path, so that prefixes are ignored; default: chat. */
function dialectAt(path: string): Dialect {
  const bare = `/${path.split('?')[0]}`
  return all.find(({ path, calls }) => calls?.test(bare) ?? bare.endsWith(path.replace(/^\/v1/, ''))) ?? chat
}

/** Returns the dialect of a call. */
export const dialectOf = ({ request }: Pick<Exchange, 'request'>): Dialect => dialectAt(request.path)
/** Returns the dialect of a request to a provider. */
export const providerDialectOf = ({ endpoint }: Pick<LedgerEntry, 'endpoint'>): Dialect => dialectAt(endpoint)

/** Reads the answer that the client received. */
export const readAnswer = (exchange: Pick<Exchange, 'request' | 'body'>): Reading =>
  dialectOf(exchange).read(exchange.body)

/** Reads the provider's answer; empty if there is none. */
export const readSent = (entry: Pick<LedgerEntry, 'endpoint' | 'answer'> | null | undefined): Reading =>
  entry ? providerDialectOf(entry).read(entry.answer.body ?? '') : chat.read('')

/** Returns true if the client's answer was translated. */
export const isCrossed = (
  exchange: Pick<Exchange, 'request'>,
  entry: Pick<LedgerEntry, 'endpoint'>,
): boolean => dialectOf(exchange) !== providerDialectOf(entry)

/** Returns a target with only the models that can be called in this dialect. */
export const inDialect = (target: Target, name: DialectName): Target => ({
  ...target,
  models: (name === 'chat' ? undefined : target.dialects[name]?.models) ?? target.models,
})

const nonces = new WeakMap<LedgerEntry, string | null>()

/** Returns true if a request contains the text of a call; ids that the mock made from the nonce do not count. */
export const holdsWords = (entry: LedgerEntry, { nonce }: Pick<Exchange, 'nonce'>): boolean =>
  nonce !== null && JSON.stringify(entry.body).includes(writeNonce(nonce))

/** Returns the nonce of the call that caused a request, even if the request contains earlier turns. */
export function nonceOf(entry: LedgerEntry): string | null {
  if (entry.nonce === null) return null
  let nonce = nonces.get(entry)
  if (nonce === undefined) {
    nonce = lastNonceIn(JSON.stringify(entry.body ?? null)) ?? entry.nonce
    nonces.set(entry, nonce)
  }
  return nonce
}

/** Returns the requests that a call caused at the mock, in order. */
export const requestsOf = (
  { ledger }: Pick<Evidence, 'ledger'>,
  { nonce }: Pick<Exchange, 'nonce'>,
): LedgerEntry[] =>
  nonce === null ? [] : ledger.filter((entry) => entry.kind === 'inference' && nonceOf(entry) === nonce)

const isWell = ({ answer }: LedgerEntry): boolean =>
  answer.status != null && answer.status >= 200 && answer.status < 300

/** Returns true if the gateway cancelled a request before its answer was complete. */
const isCancelled = ({ answer, peer_left_at }: LedgerEntry): boolean =>
  peer_left_at !== null && !answer.complete && answer.cut_at === null

/**
 * Returns the request that served the call: the last successful one, otherwise the last one. If the gateway cancelled it
 * and has another answer without an error, that one served the call.
 */
export function servedBy(
  evidence: Pick<Evidence, 'ledger'>,
  exchange: Pick<Exchange, 'nonce'>,
): LedgerEntry | null {
  const requests = requestsOf(evidence, exchange)
  const well = requests.filter(isWell)
  const last = well.at(-1) ?? requests.at(-1) ?? null
  if (last === null || !isCancelled(last)) return last
  return well.findLast((each) => each.answer.complete && readSent(each).errors.length === 0) ?? last
}

/** Returns `#3` for an exchange, `@7` for a ledger entry: findings refer to evidence this way. */
export const ref = (each: Pick<Exchange | LedgerEntry, 'n'>): string =>
  'provider' in each ? `@${each.n}` : `#${each.n}`
export const refs = (...each: readonly (Pick<Exchange | LedgerEntry, 'n'> | null | undefined)[]): string[] =>
  each.filter((one) => one != null).map(ref)

/** Returns the destination of a request for reports: `openai/gpt-5-mini`. */
export const where = ({ provider, model }: Pick<LedgerEntry, 'provider' | 'model'>): string =>
  `${provider}/${model}`

/**
 * Returns true if a gateway's value identifies this provider, by the mock's name or by the gateway's own name,
 * which may be a number.
 */
export function namesProvider({ providers }: Target, provider: string, said: unknown): boolean {
  const names = [provider, ...(providers[provider]?.aliases ?? [])].map((name) => name.toLowerCase())
  return ['string', 'number'].includes(typeof said) && names.includes(String(said).toLowerCase())
}

/**
 * Returns true if a gateway's value names this model, with or without a provider prefix such as `openai/…` or
 * `openai:…`.
 */
export const namesModel = (target: Target, provider: string, model: string | null, said: unknown): boolean =>
  typeof said === 'string' &&
  model !== null &&
  (said === model ||
    (/[/:]$/.test(said.slice(0, -model.length)) &&
      said.endsWith(model) &&
      namesProvider(target, provider, said.slice(0, -model.length - 1))))

/** Returns the ids to call if each model must be tried: the direct ids, or else the default model. */
export const modelsOf = ({
  target,
  model,
}: {
  readonly target: Target
  readonly model: string
}): string[] => {
  const { direct } = target.models
  return direct.length > 0 ? direct.map(({ id }) => id) : [model]
}

/** Returns the default model, and the other models of `modelsOf`. */
export const everyModel = (session: Parameters<typeof modelsOf>[0]): string[] => [
  ...new Set([session.model, ...modelsOf(session)]),
]

/** Returns the model in a call's body or path; undefined if it names none. */
export const askedModel = ({ request: { body, path } }: Pick<Exchange, 'request'>): unknown =>
  at(jsonOf(body ?? ''), '/model') ?? /\/models\/([^?]+):/.exec(path)?.slice(1).map(decodeURIComponent)[0]

/**
 * Returns the requests of a call that went to another target than the first; all later requests if the mock
 * cannot distinguish the targets.
 */
export function movedOn(target: Target, { request }: Pick<Exchange, 'request'>, entries: Evidence['ledger']) {
  const id = askedModel({ request })
  const targets = target.models.logical.find((table) => table.id === id)?.targets ?? []
  const [first, ...rest] = entries
  return targets.length > 1 && !areDifferent(targets)
    ? rest
    : rest.filter((entry) => where(entry) !== where(first!))
}

/** Returns a status after which the target falls back according to its target file. */
export const aFallbackStatus = ({ capabilities }: Target): number =>
  capabilities.fallback_statuses.find((each) => each >= 500) ?? capabilities.fallback_statuses[0]!

/** Returns the request for the list of a log. */
export const listRequest = ({
  path,
  body,
}: Pick<NonNullable<Target['observability']['log']>, 'path' | 'body'>) =>
  body === undefined
    ? { method: 'GET', path, headers: {}, body: null }
    : { method: 'POST', path, headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) }

/** Returns the items of the target's log list; null if the body is not a list. */
export function itemsOf(target: Target, { body }: Pick<Exchange, 'body'>): unknown[] | null {
  const list = at(jsonOf(body), target.observability.log?.list)
  return Array.isArray(list) ? list : null
}

/** Returns the record in an answer of the single-record path. */
export const theOne = (log: NonNullable<Target['observability']['log']>, body: string): unknown =>
  at(jsonOf(body), log.record ?? '')

/**
 * Returns the record in an exchange of `Session.record`: the answer itself, or its item with this request id.
 */
export function recordIn(
  target: Target,
  exchange: Pick<Exchange, 'status' | 'body'> | undefined,
  requestId: string,
): unknown {
  const { log } = target.observability
  if (!log || exchange?.status !== 200) return undefined
  if (log.one !== undefined) return theOne(log, exchange.body)
  return itemsOf(target, exchange)?.find((item) => isSameId(at(item, log.fields.id), requestId))
}

const UUID = /^(?:urn:uuid:|\{)?([\da-f]{8})-?([\da-f]{4})-?([\da-f]{4})-?([\da-f]{4})-?([\da-f]{12})\}?$/i
/** Returns a UUID in one spelling, and other ids unchanged. */
const bare = (id: string): string => UUID.exec(id)?.slice(1).join('').toLowerCase() ?? id

/** Returns true if two ids are equal; a UUID may be in capitals, without hyphens or in braces. */
export const isSameId = (one: unknown, other: unknown): boolean => bare(String(one)) === bare(String(other))

/**
 * Returns true if the provider refused the request itself. Such a refusal is free, and a repeated request is
 * refused again.
 */
export const isRefused = ({ answer }: Pick<LedgerEntry, 'answer'>): boolean =>
  [400, 413, 422].includes(answer.status ?? 0)

const HTTP_DATES = [
  /^\w{3}, (?<day>\d\d) (?<month>\w{3}) (?<year>\d{4}) (?<time>[\d:]{8}) GMT$/,
  /^\w{6,9}, (?<day>\d\d)-(?<month>\w{3})-(?<year>\d\d) (?<time>[\d:]{8}) GMT$/,
  /^\w{3} (?<month>\w{3}) (?<day>[ \d]\d) (?<time>[\d:]{8}) (?<year>\d{4})$/,
]

/** Parses a header with a date, in any of the three forms that HTTP allows, as ms; NaN for anything else. */
export function momentIn(header: string): number {
  const { day, month, year, time } = HTTP_DATES.map((form) => form.exec(header)?.groups).find(Boolean) ?? {}
  if (year === undefined) return Number.NaN
  return Date.parse(`${day!.trim()} ${month} ${year.length === 2 ? `20${year}` : year} ${time} GMT`)
}

/**
 * Returns the seconds of a `Retry-After`; a date counts from the end of the exchange. NaN for anything else.
 */
const secondsIn = (header: string, { end_at }: Pick<Exchange, 'end_at'>): number =>
  /^\d+$/.test(header) ? Number(header) : Math.ceil((momentIn(header) - end_at) / 1_000)

/** Maximum excess over the provider's seconds that counts as rounding, ms. */
const MAX_ROUNDING_MS = 2_000

/**
 * Returns true if `Retry-After` has the provider's seconds. A gateway may add the time for which it cools
 * down a target.
 */
export function saysWhen(
  wanted: number,
  { headers, end_at }: Pick<Exchange, 'headers' | 'end_at'>,
  { capabilities }: Pick<Target, 'capabilities'>,
): boolean {
  const header = headers['retry-after'] ?? ''
  const seconds = secondsIn(header, { end_at })
  // A date has no fractions of a second.
  const least = /^\d+$/.test(header) ? wanted : wanted - 1
  return seconds >= least && seconds <= wanted + (capabilities.cooldown_ms + MAX_ROUNDING_MS) / 1_000
}

/** Decimal, with or without thousands commas, with a unit or currency before or after it. */
const AMOUNT =
  /^\s*\p{L}{0,4}\p{Sc}?\s*([+-]?(?:\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d*)?|\.\d+)(?:e[+-]?\d+)?)\s*(?:\p{Sc}|\p{L}{1,8})?\s*$/iu
/** Duration such as `PT1.5S` or `0:00:01.5`. */
const DURATION = /^(?:PT(?:(\d+)H)?(?:(\d+)M)?(?:([\d.]+)S)?|(\d+):(\d\d):([\d.]+))$/i

/**
 * Parses a number, which may be a string (databases return decimals this way) or have a unit. Returns
 * durations in ms, and NaN for anything else.
 */
export function amountIn(value: unknown): number {
  if (typeof value !== 'string') return typeof value === 'number' ? value : Number.NaN
  const duration = DURATION.exec(value.trim())
  if (duration) {
    const [h = 0, m = 0, s = 0, hours = h, minutes = m, seconds = s] = duration.slice(1)
    return ((Number(hours) * 60 + Number(minutes)) * 60 + Number(seconds)) * 1_000
  }
  return Number(AMOUNT.exec(value)?.[1]?.replaceAll(',', '') ?? Number.NaN)
}

/**
 * Returns the request id of an answer, from a header or the body. Errors and abandoned answers often have
 * none. For these, returns the id of the record that was matched to the call, or null.
 */
export function requestIdOf({ observability }: Target, exchange: Exchange): string | null {
  const { headers, request_id_pointer: pointer } = observability
  if (headers.request_id !== undefined) return exchange.headers[headers.request_id.toLowerCase()] || null
  if (pointer === undefined) return exchange.record_id ?? null
  const whole = jsonOf(exchange.body)
  const parts = whole === undefined ? readEvents(exchange.body).map(({ data }) => jsonOf(data)) : [whole]
  const found = parts.map((part) => at(part, pointer)).find((id) => id != null && id !== '')
  return found === undefined ? (exchange.record_id ?? null) : String(found)
}

/** Returns the ids in a list of the target's log. */
export const idsIn = (target: Target, exchange: Pick<Exchange, 'body'>): string[] =>
  (itemsOf(target, exchange) ?? []).map((item) => String(at(item, target.observability.log!.fields.id)))

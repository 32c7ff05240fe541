// What judges look up in evidence: the ledger entries of a call, the names of a provider,
// the records of a log. Pure.
import type { LedgerEntry } from '../mocks/ledger.ts'
import type { Evidence, Exchange } from './evidence.ts'
import { at, eventsOf, jsonOf } from './reading.ts'
import { areDifferent } from './scripted.ts'
import type { Target } from './target.ts'

/** Only says where to ask instead; the suite does, under the same step. */
export const isRedirect = ({ status, headers }: Pick<Exchange, 'status' | 'headers'>): boolean =>
  status !== null && status >= 300 && status < 400 && headers.location !== undefined

/** The requests that a call caused at the witness, in their order. */
export const requestsOf = ({ ledger }: Evidence, { nonce }: Pick<Exchange, 'nonce'>): LedgerEntry[] =>
  nonce === null ? [] : ledger.filter((entry) => entry.nonce === nonce && entry.kind === 'inference')

const isWell = ({ answer }: LedgerEntry): boolean =>
  answer.status != null && answer.status >= 200 && answer.status < 300

/** The request that served: the last that was answered with success; where none was, the last that arrived. */
export function servedBy(evidence: Evidence, exchange: Pick<Exchange, 'nonce'>): LedgerEntry | null {
  const requests = requestsOf(evidence, exchange)
  return requests.findLast(isWell) ?? requests.at(-1) ?? null
}

/** `#3` for an exchange, `@7` for a ledger entry: the way a finding names its evidence. */
export const ref = (each: Pick<Exchange | LedgerEntry, 'n'>): string =>
  'provider' in each ? `@${each.n}` : `#${each.n}`
export const refs = (...each: readonly (Pick<Exchange | LedgerEntry, 'n'> | null | undefined)[]): string[] =>
  each.filter((one) => one != null).map(ref)

/** `openai/gpt-5-mini`, as a reader is told where a request went. */
export const where = ({ provider, model }: Pick<LedgerEntry, 'provider' | 'model'>): string =>
  `${provider}/${model}`

/** Whether what a gateway says names this provider: by the witness's name, or by one of its own, which may be a number. */
export function namesProvider({ providers }: Target, provider: string, said: unknown): boolean {
  const names = [provider, ...(providers[provider]?.aliases ?? [])].map((name) => name.toLowerCase())
  return ['string', 'number'].includes(typeof said) && names.includes(String(said).toLowerCase())
}

/** Whether what a gateway says names this model; with its provider in front is as good. */
export const namesModel = (target: Target, provider: string, model: string | null, said: unknown): boolean =>
  typeof said === 'string' &&
  model !== null &&
  (said === model ||
    (said.endsWith(`/${model}`) && namesProvider(target, provider, said.slice(0, -model.length - 1))))

/** The ids that are called where each model is to be tried: the direct ones, or the one that is called anyhow. */
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

/** The requests of a call behind the first that went to another target; where the witness cannot tell them apart, all. */
export function movedOn(target: Target, { request }: Pick<Exchange, 'request'>, entries: Evidence['ledger']) {
  const id = at(jsonOf(request.body ?? ''), '/model')
  const targets = target.models.logical.find((table) => table.id === id)?.targets ?? []
  const [first, ...rest] = entries
  return targets.length > 1 && !areDifferent(targets)
    ? rest
    : rest.filter((entry) => where(entry) !== where(first!))
}

/** One of the statuses after which the target moves on, as it says. */
export const aFallbackStatus = ({ capabilities }: Target): number =>
  capabilities.fallback_statuses.find((each) => each >= 500) ?? capabilities.fallback_statuses[0]!

/** How the list of a log is asked for. */
export const listRequest = ({
  path,
  body,
}: Pick<NonNullable<Target['observability']['log']>, 'path' | 'body'>) =>
  body === undefined
    ? { method: 'GET', path, headers: {}, body: null }
    : { method: 'POST', path, headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) }

/** The items of a list that the target's log answered with; null where it is none. */
export function itemsOf(target: Target, { body }: Pick<Exchange, 'body'>): unknown[] | null {
  const list = at(jsonOf(body), target.observability.log?.list)
  return Array.isArray(list) ? list : null
}

/** The record in an answer to the path of one record. */
export const theOne = (log: NonNullable<Target['observability']['log']>, body: string): unknown =>
  at(jsonOf(body), log.record ?? '')

/** The record in an exchange of `Session.record`: the answer itself, or its item with this request id. */
export function recordIn(target: Target, exchange: Exchange | undefined, requestId: string): unknown {
  const { log } = target.observability
  if (!log || exchange?.status !== 200) return undefined
  if (log.one !== undefined) return theOne(log, exchange.body)
  return itemsOf(target, exchange)?.find((item) => String(at(item, log.fields.id)) === requestId)
}

/** A decimal, with or without its unit or currency before or behind it. */
const AMOUNT = /^\s*\p{Sc}?\s*(-?\d+(?:\.\d+)?(?:e[+-]?\d+)?)\s*(?:\p{Sc}|\p{L}{1,8})?\s*$/iu

/** A number, also in quotes, as databases give decimals, or with its unit; NaN for anything else. */
export const amountIn = (value: unknown): number =>
  typeof value === 'string'
    ? Number(AMOUNT.exec(value)?.[1] ?? Number.NaN)
    : typeof value === 'number'
      ? value
      : Number.NaN

/**
 * The request id that an answer carries, in a header or in its body. Where it carries none, as errors and answers that
 * were left often do, the id of the record that was found to be the call's. Null where there is none.
 */
export function requestIdOf({ observability }: Target, exchange: Exchange): string | null {
  const { headers, request_id_pointer: pointer } = observability
  if (headers.request_id !== undefined) return exchange.headers[headers.request_id.toLowerCase()] || null
  if (pointer === undefined) return exchange.record_id ?? null
  const whole = jsonOf(exchange.body)
  const parts = whole === undefined ? eventsOf(exchange.body).map(({ data }) => jsonOf(data)) : [whole]
  const found = parts.map((part) => at(part, pointer)).find((id) => id != null && id !== '')
  return found === undefined ? (exchange.record_id ?? null) : String(found)
}

/** The ids in a list of the target's log. */
export const idsIn = (target: Target, exchange: Pick<Exchange, 'body'>): string[] =>
  (itemsOf(target, exchange) ?? []).map((item) => String(at(item, target.observability.log!.fields.id)))

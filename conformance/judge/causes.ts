// Groups failures with one cause: an unexpected answer that several calls have in common, such as a 500 for
// each streamed call. Pure.

import { requestsOf } from '../dialects/lookup.ts'
import type { Evidence, Exchange } from '../evidence/evidence.ts'
import { at, jsonOf } from '../evidence/reading.ts'

/** Answer that several failed calls have in common. */
interface Cause {
  /** Complete sentence about the cause. */
  readonly what: string
  /** Ids of the verdicts that the cause explains. */
  readonly verdicts: readonly string[]
}

/** Failed verdict with its evidence. */
export interface Suspect {
  readonly id: string
  /** Exchanges of the failed findings (`#3`); empty if all of the evidence counts. */
  readonly see: readonly string[]
  readonly evidence: Evidence
}

/** Minimum number of failures with one cause; fewer failures are listed one by one. */
const MIN_VERDICTS = 3
const MAX_BODY = 200

/** Returns the causes of at least three verdicts each, largest first; a verdict has at most one cause. */
export function causesOf(suspects: readonly Suspect[], all: Iterable<Evidence>): Cause[] {
  const calls = [...all].flatMap((evidence) =>
    evidence.exchanges.filter(isCall).map((exchange) => ({ exchange, key: keyOf(evidence, exchange) })),
  )
  const left = new Map(suspects.map((suspect) => [suspect.id, keysOf(suspect)]))
  const causes: Cause[] = []
  for (;;) {
    const counts = new Map<string, string[]>()
    for (const [id, keys] of left)
      for (const key of keys) if (!isAskedFor(key, calls)) counts.set(key, [...(counts.get(key) ?? []), id])
    const [widest] = [...counts].sort(([, a], [, b]) => b.length - a.length)
    if (widest === undefined || widest[1].length < MIN_VERDICTS) return causes
    const [key, verdicts] = widest
    causes.push({ what: sentenceFor(key, calls), verdicts })
    for (const id of verdicts) left.delete(id)
  }
}

/**
 * Returns true for a refusal that a wrong key explains, because checks send wrong keys on purpose. Such a
 * refusal is a cause only if most calls get it.
 */
const isAskedFor = (key: string, calls: readonly Keyed[]): boolean =>
  /^40[13] /.test(key) && calls.filter((call) => call.key === key).length * 2 < calls.length

type Keyed = { readonly exchange: Exchange; readonly key: string | null }

/** Formats a cause: `each streamed call was answered with 500 {…}`, or the number of calls. */
function sentenceFor(key: string, calls: readonly Keyed[]): string {
  const those = calls.filter((call) => call.key === key).map(({ exchange }) => exchange)
  const [example] = those
  const streamed = those.every(isStreamed)
  const whole = those.every((exchange) => !isStreamed(exchange))
  const kind = streamed ? 'streamed call' : whole ? 'whole call' : 'call'
  const alike = calls.filter(({ exchange }) => (!streamed && !whole) || isStreamed(exchange) === streamed)
  const well = alike.filter(
    ({ exchange: { status, end } }) => status !== null && status < 300 && end !== 'left',
  )
  const all = those.length + well.length
  const which = well.length === 0 ? `each ${kind} was` : `${those.length} of ${all} ${kind}s were`
  return `${which} answered with ${answerIn(example!)}`
}

/** Describes the answer to a call. */
export function answerIn({ status, error, end, body }: Exchange): string {
  if (status === null) return `no answer: ${error ?? end}`
  const said = body.replace(/\s+/g, ' ').trim()
  return `${status} ${said.length > MAX_BODY ? `${said.slice(0, MAX_BODY)}…` : said || 'and no body'}`
}

const isCall = ({ nonce }: Exchange): boolean => nonce !== null

const isStreamed = ({ request }: Exchange): boolean => at(jsonOf(request.body ?? ''), '/stream') === true

/** Returns a suspect's answers that may be a cause: from the exchanges in its findings, or from all exchanges. */
function keysOf({ see, evidence }: Suspect): ReadonlySet<string> {
  const named = evidence.exchanges.filter(({ n }) => see.includes(`#${n}`))
  const keys = (named.length > 0 ? named : evidence.exchanges).map((exchange) => keyOf(evidence, exchange))
  return new Set(keys.filter((key) => key !== null))
}

/**
 * Returns the part of an answer that other calls may share, without ids and numbers. Returns null for
 * exchanges other than calls, for good answers and for the provider's own failures.
 */
function keyOf(evidence: Evidence, exchange: Exchange): string | null {
  const { status, error, end, body } = exchange
  if (!isCall(exchange) || end === 'left' || (status !== null && status < 400)) return null
  const requests = requestsOf(evidence, exchange)
  if (requests.some(({ answer }) => answer.status === null || answer.status >= 400 || !answer.complete))
    return null
  const said = (status === null ? (error ?? end) : body).replace(/[\da-f-]{8,}|\d+/gi, '…')
  return `${status} ${isStreamed(exchange)} ${said.slice(0, MAX_BODY)}`
}

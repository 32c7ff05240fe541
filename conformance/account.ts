// The account of a run: it decides for each inference at the witness whether a call of the suite explains it. It reads the
// whole ledger, not a window, so that spending between two checks, or slow spending, also counts. Pure.
import { isDeepStrictEqual } from 'node:util'
import { type LedgerEntry, nonceIn } from '../mocks/ledger.ts'
import { type Finding, finding } from './check.ts'
import type { Evidence, Exchange } from './evidence.ts'
import { at, jsonOf } from './reading.ts'
import { inWords } from './step.ts'
import { dialectOf, readSent } from './surfaces.ts'
import type { Background, Target } from './target.ts'

/** A call of the suite, and the inferences that it explains, in their order. */
interface Accounted {
  readonly name: string
  readonly exchange: Exchange
  readonly entries: LedgerEntry[]
}

/** How long after the end of a call without a nonce its request may still arrive, ms. */
const LATE = 2_000

/** Statuses that refuse the request itself: sent again as it is, it is refused again. */
const REFUSED = [400, 413, 422]

/** The findings over a run: three at least, whatever was seen. */
export function account(all: ReadonlyMap<string, Evidence>, target: Target): Finding[] {
  const calls = new Map<string, Accounted>()
  for (const { check, exchanges } of all.values())
    for (const exchange of exchanges)
      for (const nonce of noncesOf(exchange))
        calls.set(nonce, { name: nameOf(check, exchange), exchange, entries: [] })

  const foreign: { entry: LedgerEntry; check: string }[] = []
  const background: LedgerEntry[] = []
  for (const evidence of all.values()) {
    const anonymous = new Map<Exchange, Accounted>()
    for (const entry of evidence.ledger) {
      if (entry.kind !== 'inference') continue
      const call = entry.nonce === null ? withoutNonce(evidence, entry, anonymous) : calls.get(entry.nonce)
      if (call) call.entries.push(entry)
      else if (isBackground(target, entry)) background.push(entry)
      else foreign.push({ entry, check: evidence.check })
    }
    for (const [exchange, call] of anonymous) calls.set(`${evidence.check}#${exchange.n}`, call)
  }

  const made = [...calls.values()].filter(({ entries }) => entries.length > 0)
  const inferences = made.reduce((sum, { entries }) => sum + entries.length, 0)
  const twice = made.flatMap((call) => sentAgain(call, target))
  const tooMuch = excess(all, target, background)
  return [
    finding('calls-reach-the-witness', made.length > 0, 'calls of the suite that reached the witness', {
      expected: 'some',
      actual: String(made.length),
    }),
    finding(
      'no-foreign-inference',
      foreign.length === 0,
      `inferences that belong to no call of the suite; ${inferences} belong to ${made.length} calls${background.length > 0 ? `, ${background.length} are declared background` : ''}`,
      {
        expected: 'none',
        actual: `${foreign.length}${said(foreign.map(({ entry, check }) => `${describe(entry)} during ${check}`))}`,
      },
      foreign.map(({ entry, check }) => `${check}@${entry.n}`),
    ),
    finding(
      'no-call-is-sent-again',
      twice.length === 0,
      'calls that were sent again after an answer or a final refusal',
      { expected: 'none', actual: `${twice.length}${said(twice)}` },
    ),
    ...(tooMuch === null ? [] : [finding('background-as-declared', false, 'declared background', tooMuch)]),
  ]
}

/** The nonces that a request may carry: in its text, and the one that the suite made for it. */
function noncesOf({ nonce, request }: Exchange): string[] {
  const written = nonceIn(request.body ?? '') ?? nonceIn(request.path)
  return [...new Set([nonce, written])].filter((each) => each !== null)
}

const nameOf = (check: string, exchange: Exchange): string => `${check}#${exchange.n} (${inWords(exchange)})`

/**
 * The POST of the same check that was under way when the entry arrived and has no answered inference yet: one without a
 * nonce, or one that is no request, of which the gateway may pass on something else.
 */
function withoutNonce(
  { check, exchanges }: Evidence,
  entry: LedgerEntry,
  anonymous: Map<Exchange, Accounted>,
): Accounted | null {
  const found = exchanges.find(
    (exchange) =>
      exchange.request.method === 'POST' &&
      (nonceIn(exchange.request.body ?? '') === null || !isObject(exchange.request.body)) &&
      exchange.at <= entry.at &&
      entry.at <= exchange.end_at + LATE &&
      !(anonymous.get(exchange)?.entries ?? []).some(isAnswered),
  )
  if (!found) return null
  const call = anonymous.get(found) ?? { name: nameOf(check, found), exchange: found, entries: [] }
  anonymous.set(found, call)
  return call
}

/** The provider gave a whole answer that is one: no error, no broken stream, no page of HTML. */
function isAnswered(entry: LedgerEntry): boolean {
  const { status, complete, body } = entry.answer
  if (status === null || status < 200 || status >= 300 || !complete) return false
  if (body === null) return true // longer than the witness keeps
  const { errors, finish, done, content } = readSent(entry)
  const ended = finish.length > 0 || done > 0 || (dialectOf(entry).name === 'embeddings' && content !== '')
  return errors.length === 0 && ended
}

function isObject(body: string | null): boolean {
  const json = jsonOf(body ?? '')
  return typeof json === 'object' && json !== null && !Array.isArray(json)
}

/**
 * An answer that the gateway may not have got in its declared time: the next request came only after that time had
 * passed, and the client had no answer until then. On a busy machine what is sent in time is not always read in time.
 */
function cameTooLate(
  { stream }: LedgerEntry,
  next: LedgerEntry | undefined,
  { at: asked, head_at }: Exchange,
  { capabilities: { time_outs } }: Target,
): boolean {
  const limit = stream ? time_outs?.first_event_ms : time_outs?.answer_ms
  if (next === undefined || limit === undefined) return false
  return next.at - asked >= limit && (head_at === null || head_at >= next.at)
}

/** What a call was sent again for although nothing had failed, in words. */
function sentAgain({ name, exchange, entries }: Accounted, target: Target): string[] {
  const answered = entries.findIndex(
    (entry, index) => isAnswered(entry) && !cameTooLate(entry, entries[index + 1], exchange, target),
  )
  if (answered >= 0 && answered < entries.length - 1) {
    const more = entries.slice(answered + 1)
    return [
      `${name} was answered by ${describe(entries[answered]!)}, and sent again to ${more.map(describe).join(', ')}`,
    ]
  }
  const declared = target.capabilities.fallback_statuses
  const refused = entries.find(
    ({ answer, body, provider }, index) =>
      REFUSED.includes(answer.status ?? 0) &&
      !declared.includes(answer.status!) &&
      entries
        .slice(index + 1)
        .some((later) => later.provider === provider && isDeepStrictEqual(later.body, body)),
  )
  return refused
    ? [`${name} was refused with ${refused.answer.status}, and the same request was sent again`]
    : []
}

/** Whether an entry looks like background that the target file declares. */
export const isBackground = ({ capabilities }: Target, entry: LedgerEntry): boolean =>
  capabilities.background.some((declared) => looksLike(declared, entry))

const looksLike = ({ provider, endpoint, body }: Background, entry: LedgerEntry): boolean =>
  entry.provider === provider &&
  entry.endpoint === endpoint &&
  Object.entries(body).every(([pointer, value]) => isDeepStrictEqual(at(entry.body, pointer), value))

/** Background that comes more often than declared, in words; null where it keeps to what it says. */
function excess(
  all: ReadonlyMap<string, Evidence>,
  target: Target,
  entries: readonly LedgerEntry[],
): { expected: string; actual: string } | null {
  const times = [...all.values()].flatMap(({ started_at, ended_at }) => [started_at, ended_at])
  const lasted = Math.max(...times) - Math.min(...times)
  for (const declared of target.capabilities.background) {
    const came = entries.filter((entry) => looksLike(declared, entry)).length
    // One more at each start and end of the run; half as many again for a clock that is not ours.
    const allowed = target.instances * (2 + (1.5 * lasted) / declared.every_ms)
    if (came > allowed)
      return {
        expected: `every ${declared.every_ms} ms at most`,
        actual: `${came} times in ${Math.round(lasted / 1000)} s`,
      }
  }
  return null
}

const describe = ({ n, provider, model }: LedgerEntry): string => `@${n} ${provider}/${model}`

/** The first of them, so that a sentence stays one. */
const said = (all: readonly string[]): string =>
  all.length === 0
    ? ''
    : `: ${all.slice(0, 3).join('; ')}${all.length > 3 ? `; and ${all.length - 3} more` : ''}`

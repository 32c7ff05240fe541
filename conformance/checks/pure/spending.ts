// Checks that start and idle time, refused calls and a whole run cause no unexplained inference. The last is an audit of
// the ledger: each inference at the mock must be explained by a call of the suite. The audit reads the whole ledger
// instead of a window, so that spending between checks and slow spending also count.
import { isDeepStrictEqual } from 'node:util'
import { type LedgerEntry, nonceIn, writeNonce } from '../../../mocks/ledger.ts'
import { WORDLESS } from '../../dialects/dialect.ts'
import { askedModel, isRefused, nonceOf, providerDialectOf, readSent, ref } from '../../dialects/lookup.ts'
import { type Evidence, type Exchange, endText, step, stepText } from '../../evidence/evidence.ts'
import { at, jsonOf } from '../../evidence/reading.ts'
import type { Background, Target } from '../../target/schema.ts'
import { type Finding, family, finding } from '../check.ts'
import { arrived, inferencesIn, measuredWindow, names, noneArrived } from './window.ts'

/** Call of the suite, with the inferences that it explains in order. */
interface AuditedCall {
  readonly check: string
  readonly name: string
  readonly exchange: Exchange
  readonly entries: LedgerEntry[]
}

/** Maximum delay of a request without a nonce after the end of its call, ms. */
const MAX_DELAY_MS = 2_000

/** Returns the findings of a whole run, at least three. */
export function auditLedger(all: ReadonlyMap<string, Evidence>, target: Target): Finding[] {
  const calls = new Map<string, AuditedCall>()
  for (const { check, exchanges } of all.values())
    for (const exchange of exchanges)
      for (const nonce of noncesOf(exchange))
        calls.set(nonce, { check, name: nameOf(check, exchange), exchange, entries: [] })

  const foreign: { entry: LedgerEntry; check: string }[] = []
  const background: LedgerEntry[] = []
  for (const evidence of all.values()) {
    const anonymous = new Map<Exchange, AuditedCall>()
    for (const entry of evidence.ledger) {
      if (entry.kind !== 'inference' || isFreeProbe(evidence, entry)) continue
      const nonce = nonceOf(entry)
      const call = nonce === null ? withoutNonce(evidence, entry, anonymous) : calls.get(nonce)
      if (call) call.entries.push(entry)
      else if (isBackground(target, entry)) background.push(entry)
      else if (!isRefused(entry)) foreign.push({ entry, check: evidence.check })
    }
    for (const [exchange, call] of anonymous) calls.set(`${evidence.check}#${exchange.n}`, call)
  }

  const made = [...calls.values()].filter(({ entries }) => entries.length > 0)
  const inferences = made.reduce((sum, { entries }) => sum + entries.length, 0)
  const again = made
    .map((call) => ({ call, said: sentAgain(call, target) }))
    .filter(({ said }) => said !== null)
  const twice = again.map(({ said }) => said!)
  const tooMuch = excess(all, target, background)
  return [
    finding('calls-reach-the-mock', made.length > 0, 'calls of the suite that reached the mock', {
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
      again.flatMap(({ call: { check, exchange, entries } }) => [
        `${check}#${exchange.n}`,
        ...entries.map(({ n }) => `${check}@${n}`),
      ]),
    ),
    ...(tooMuch === null ? [] : [finding('background-as-declared', false, 'declared background', tooMuch)]),
  ]
}

/**
 * Returns true for a free request that the gateway may have made for itself: the provider refused it, it has
 * no nonce, and either no call or several calls were open at that time.
 */
function isFreeProbe({ exchanges }: Evidence, entry: LedgerEntry): boolean {
  const open = exchanges.filter(({ at, end_at }) => at <= entry.at && entry.at <= end_at)
  const isOneCall = open.length === 1 && open[0]!.request.method === 'POST'
  return entry.nonce === null && isRefused(entry) && !isOneCall
}

/** Returns the nonces that a request may have: the nonces in its text, and the nonce that was made for it. */
function noncesOf({ nonce, request }: Exchange): string[] {
  const written = nonceIn(request.body ?? '') ?? nonceIn(request.path)
  return [...new Set([nonce, written])].filter((each) => each !== null)
}

const nameOf = (check: string, exchange: Exchange): string => `${check}#${exchange.n} (${stepText(exchange)})`

/**
 * Returns a POST of the same check to which the entry may belong, and which has no answered inference yet.
 * The POST has no nonce, or is invalid, so that the gateway may forward something else. Prefers calls that
 * were open when the entry arrived. Of these, it returns the one that ended first, so that the other calls
 * remain for later entries. If none was open, returns the call that ended last.
 */
function withoutNonce(
  { check, exchanges }: Evidence,
  entry: LedgerEntry,
  anonymous: Map<Exchange, AuditedCall>,
): AuditedCall | null {
  const possible = exchanges
    .filter(
      ({ request, at: asked, end_at }) =>
        request.method === 'POST' &&
        (nonceIn(request.body ?? '') === null || !isRequest(request)) &&
        asked <= entry.at &&
        entry.at <= end_at + MAX_DELAY_MS,
    )
    .filter((exchange) => !(anonymous.get(exchange)?.entries ?? []).some(isAnswered))
    .sort((a, b) => a.end_at - b.end_at)
  const isOpen = ({ end_at }: Exchange) => entry.at <= end_at
  const found =
    possible.find((each) => isOpen(each) && !anonymous.has(each)) ?? possible.find(isOpen) ?? possible.at(-1)
  if (!found) return null
  const call = anonymous.get(found) ?? { check, name: nameOf(check, found), exchange: found, entries: [] }
  anonymous.set(found, call)
  return call
}

/**
 * Returns true if the provider gave a complete answer: no error, no broken stream, no HTML page, and no deviation, which
 * a gateway may take for a failure.
 */
function isAnswered(entry: LedgerEntry): boolean {
  const { status, complete, body, concludes } = entry.answer
  if (status === null || status < 200 || status >= 300 || !complete || concludes) return false
  if (body === null) return true // longer than the mock stores
  const { errors, finish, done, content } = readSent(entry)
  const ended =
    finish.length > 0 || done > 0 || (WORDLESS.includes(providerDialectOf(entry).name) && content !== '')
  return errors.length === 0 && ended
}

/** Returns false for a request that no gateway can route, because it is not JSON or has no model. */
const isRequest = (request: Exchange['request']): boolean =>
  jsonOf(request.body ?? '') !== undefined && typeof askedModel({ request }) === 'string'

/** Maximum time between the decision to send another request and its arrival at the mock, on a busy machine, ms. */
const ON_ITS_WAY_MS = 500

/**
 * Returns true if the gateway may have missed the answer within its declared time: the next request came
 * after that time, and the client had no answer when it was sent. A busy machine may read data late even if it was
 * sent in time.
 */
function cameTooLate(
  { stream }: LedgerEntry,
  next: LedgerEntry | undefined,
  { at: asked, head_at }: Exchange,
  { capabilities: { time_outs } }: Target,
): boolean {
  const limit = stream ? time_outs?.first_event_ms : time_outs?.answer_ms
  if (next === undefined || limit === undefined) return false
  if (next.at - asked < limit) return false
  return head_at === null || (head_at - asked >= limit && head_at >= next.at - ON_ITS_WAY_MS)
}

/** Describes a call that was sent again although nothing had failed; null for other calls. */
function sentAgain({ name, exchange, entries }: AuditedCall, target: Target): string | null {
  const answered = entries.findIndex(
    (entry, index) => isAnswered(entry) && !cameTooLate(entry, entries[index + 1], exchange, target),
  )
  if (answered >= 0 && answered < entries.length - 1) {
    const more = entries.slice(answered + 1)
    return `${name} was answered by ${describe(entries[answered]!)}, and sent again to ${more.map(describe).join(', ')}`
  }
  const declared = target.capabilities.fallback_statuses
  const refused = entries.find(
    (entry, index) =>
      isRefused(entry) &&
      !declared.includes(entry.answer.status!) &&
      !cameTooLate(entry, entries[index + 1], exchange, target) &&
      entries
        .slice(index + 1)
        .some(({ provider, body }) => provider === entry.provider && isDeepStrictEqual(body, entry.body)),
  )
  return refused
    ? `${name} was refused with ${refused.answer.status}, and the same request was sent again`
    : null
}

/** Returns true if an entry looks like the background traffic in the target file. */
const isBackground = ({ capabilities }: Target, entry: LedgerEntry): boolean =>
  capabilities.background.some((declared) => looksLike(declared, entry))

const looksLike = ({ provider, endpoint, body }: Background, entry: LedgerEntry): boolean =>
  entry.provider === provider &&
  entry.endpoint === endpoint &&
  Object.entries(body).every(([pointer, value]) => isDeepStrictEqual(at(entry.body, pointer), value))

/** Describes background traffic that is more frequent than declared; null if there is none. */
function excess(
  all: ReadonlyMap<string, Evidence>,
  target: Target,
  entries: readonly LedgerEntry[],
): { expected: string; actual: string } | null {
  const times = [...all.values()].flatMap(({ started_at, ended_at }) => [started_at, ended_at])
  const lasted = Math.max(...times) - Math.min(...times)
  for (const declared of target.capabilities.background) {
    const came = entries.filter((entry) => looksLike(declared, entry)).length
    // Allows one more request at the start and one at the end of the run, and half as many again, because the
    // gateway's clock differs from ours.
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

/** Returns the first few names, so that the sentence stays short. */
const said = (all: readonly string[]): string =>
  all.length === 0
    ? ''
    : `: ${all.slice(0, 3).join('; ')}${all.length > 3 ? `; and ${all.length - 3} more` : ''}`

const check = family()

/** Minimum time for which an idle gateway is watched, ms: in a full run and in a quick run. */
const IDLE_MS = 60_000
const QUICK_IDLE_MS = 5_000

check('PURE-02', {
  timeout: 180_000,
  async exercise(session) {
    const { capabilities, start } = session.target
    // Start-up can be watched only if the suite may start an instance.
    if (!('url' in start)) {
      session.mark('start_from')
      await session.another(null)
      await session.drain()
      session.mark('start_to')
    }
    if (!(await session.controlCall('before'))) session.untestable('no control call reached the mock')
    await session.drain()
    session.mark('idle_from')
    await session.wait(session.quick ? QUICK_IDLE_MS : Math.max(IDLE_MS, 2 * capabilities.probe_interval_ms))
    session.mark('idle_to')
    if (!(await session.controlCall('after')))
      session.untestable('no control call reached the mock after the idle time')
  },
  judge({ evidence }) {
    const inferences = (from: string, to: string) => inferencesIn(arrived(evidence, from, to))
    const idle = inferences('idle_from', 'idle_to')
    const seconds = Math.round((evidence.marks.idle_to! - evidence.marks.idle_from!) / 100) / 10
    const findings = [
      finding(
        'idle-spends-nothing',
        idle.length === 0,
        `inferences in ${seconds} s of idle time`,
        { expected: 'none', actual: String(idle.length) },
        names(idle),
      ),
    ]
    if (evidence.marks.start_from !== undefined) {
      const started = inferences('start_from', 'start_to')
      findings.push(
        finding(
          'start-spends-nothing',
          started.length === 0,
          'inferences from the start until it was ready',
          { expected: 'none', actual: String(started.length) },
          names(started),
        ),
      )
    }
    return findings
  },
})

const refused = step<{ why: string }>('refused')

check('PURE-07', {
  hostile: true,
  timeout: 180_000,
  async exercise(session) {
    const { capabilities } = session.target
    const refuse = (why: string, body: string, key?: string | null) =>
      session.ask(refused.with({ why }), session.dialect.path, {
        method: 'POST',
        headers: session.callHeaders,
        body,
        ...(key !== undefined && { key }),
      })
    const call = (model: string) =>
      JSON.stringify(
        session.dialect.request({ model, prompt: writeNonce(session.nonce()), stream: false, body: {} }),
      )
    await measuredWindow(session, async () => {
      await refuse('cut body', call(session.model).slice(0, -2))
      await refuse('no object', `[${call(session.model)}]`)
      await refuse('no model', call(session.model).replace('"model"', '"mode"'))
      await refuse('unknown model', call('no-such-provider-here/no-such-model'))
      if (capabilities.gateway_keys) {
        await refuse('no key', call(session.model), null)
        await refuse('wrong key', call(session.model), 'wrong-key-of-the-suite')
      }
    })
  },
  judge({ evidence }) {
    const asked = refused.in(evidence)
    // A call that the provider refused costs nothing, and an accepted call was not refused.
    const spentIn = (entries: typeof evidence.ledger) =>
      inferencesIn(entries).filter(({ answer }) => (answer.status ?? 0) < 400)
    const each = asked.map((each) => {
      const nonce = nonceIn(each.request.body ?? '')
      const spent = spentIn(evidence.ledger.filter((entry) => entry.nonce === nonce))
      const isRefused = each.status === null ? each.end !== 'timed_out' : each.status >= 400
      return finding(
        'refused-calls-spend-nothing',
        !isRefused || spent.length === 0,
        `what providers answered to a call with ${each.details.why}`,
        {
          expected: isRefused ? 'none' : 'anything, it was let through',
          actual: `${spent.length} inferences; the client got ${endText(each)}`,
        },
        [ref(each), ...names(spent)],
      )
    })
    return [...each, noneArrived(evidence, 'further inferences while refusing', spentIn)]
  },
})

check('PURE-08', { overRun: true, judge: ({ all, target }) => auditLedger(all, target) })

// Parts that the FLOW checks and others share: the meaning of an answer, its visible end, and the current speed
// of a gateway on this machine. A check with a limit in milliseconds adds the time of an ordinary call to the
// limit, so that other work on the machine does not fail a correct gateway.
import { isDeepStrictEqual } from 'node:util'
import type { Reading } from '../../dialects/dialect.ts'
import { isCrossed, readAnswer, readSent, refs, servedBy } from '../../dialects/lookup.ts'
import { type Evidence, type Exchange, endText, step, stepText } from '../../evidence/evidence.ts'
import { jsonValue, readEvents } from '../../evidence/reading.ts'
import { doubt, type Finding, finding } from '../check.ts'
import type { CheckContext, OpenCall } from '../context.ts'

/**
 * Meaning of an answer: each call with its arguments as a value, and the index of its id among the distinct
 * ids.
 */
export interface Meaning extends Omit<Reading, 'tools'> {
  readonly tools: readonly (Omit<Reading['tools'][number], 'arguments' | 'id'> & {
    readonly id: number | null
    readonly arguments: unknown
  })[]
}

/**
 * Returns the meaning of an answer. A gateway may format the JSON of arguments differently, and use its own
 * call ids if each call has one. In translations, thoughts may be lost, and some finish reasons share a word.
 */
export function meaningOf(reading: Reading, crossed: boolean): Meaning {
  const ids = reading.tools.map(({ id }) => id)
  const tools = reading.tools.map((tool) => ({
    ...tool,
    id: crossed || tool.id === '' ? null : ids.indexOf(tool.id),
    arguments: jsonValue(tool.arguments),
  }))
  if (!crossed) return { ...reading, tools }
  const finish = reading.finish.map((each) => ({
    ...each,
    reason: each.reason === 'content_filter' ? 'stop' : each.reason,
  }))
  return { ...reading, tools, finish, reasoning: '' }
}

/** Compares the meaning of the client's answer with the provider's. */
export function sameAnswer(
  evidence: Evidence,
  exchange: Exchange,
  parts: readonly (keyof Meaning)[] = ['content', 'reasoning', 'tools', 'finish'],
): Finding {
  const entry = servedBy(evidence, exchange)
  const crossed = entry !== null && isCrossed(exchange, entry)
  const [got, sent] = [meaningOf(readAnswer(exchange), crossed), meaningOf(readSent(entry), crossed)]
  const different = parts.filter((part) => !isDeepStrictEqual(got[part], sent[part]))
  const said = sent.content !== '' || sent.tools.length > 0
  const ok = said && different.length === 0 && exchange.end === 'complete' && exchange.utf8
  if (exchange.end === 'timed_out' && isUnderWay(exchange))
    return doubt(
      'same-answer',
      `${stepText(exchange)}: events still arrived when the suite ran out of patience`,
      refs(exchange, entry),
    )
  const [first] = different
  const apart = first && firstDifference(sent[first], got[first])
  return finding(
    'same-answer',
    ok,
    `the answer that the client read in "${stepText(exchange)}"`,
    {
      expected: `what the provider sent${apart ? `, in its ${first} ${apart[0]}` : said ? '' : ', which was nothing'}, to its end`,
      actual: `${apart ? apart[1] : 'the same'}, ended ${exchange.end}${exchange.utf8 ? '' : ', not UTF-8'}`,
    },
    refs(exchange, entry),
  )
}

/** Returns two short values, or a few characters of both from their first difference. */
function firstDifference(one: unknown, other: unknown): readonly [string, string] {
  const texts = [one, other].map((value) => (typeof value === 'string' ? value : JSON.stringify(value))) as [
    string,
    string,
  ]
  const [a, b] = texts
  if (texts.every(({ length }) => length <= 120)) return [JSON.stringify(one), JSON.stringify(other)]
  let at = 0
  while (at < a.length && a[at] === b[at]) at++
  const from = Math.max(0, at - 20)
  const near = (text: string) => JSON.stringify(text.slice(from, at + 30))
  return [near(a), near(b)]
}

/** Returns true if data arrived shortly before the suite gave up. A slow answer is not a wrong one. */
const isUnderWay = ({ chunks, end_at }: Exchange): boolean => end_at - (chunks.at(-1)?.[1] ?? 0) < 2_000

/** Checks that a client can read an answer: its content type, and parseable events. */
export function readable(evidence: Evidence, exchange: Exchange): Finding {
  const entry = servedBy(evidence, exchange)
  const streamed = entry?.stream ?? false
  const type = exchange.headers['content-type'] ?? 'none'
  const { unreadable } = readAnswer(exchange)
  const surplus = unreadable - readSent(entry).unreadable
  return finding(
    'readable',
    (streamed ? /^text\/event-stream\b/i : /^application\/([\w.-]+\+)?json\b/i).test(type) && surplus <= 0,
    `whether a client can parse "${stepText(exchange)}", ${endText(exchange)}`,
    {
      expected: `${streamed ? 'text/event-stream' : 'application/json'}, and events that are JSON`,
      actual: `${type}, ${unreadable} events that are no JSON`,
    },
    refs(exchange, entry),
  )
}

/**
 * Returns true if the client can see that an answer is incomplete: a broken connection, an error, or invalid
 * data.
 */
export const isVisible = (exchange: Exchange): boolean =>
  exchange.end === 'cut' ||
  exchange.end === 'refused' ||
  (exchange.status !== null && exchange.status >= 400) ||
  readAnswer(exchange).errors.length > 0 ||
  readAnswer(exchange).unreadable > 0 ||
  readEvents(exchange.body).some(({ event }) => event === 'error')

/**
 * Describes the end of an incomplete answer for a finding. An answer that keeps the client waiting has not
 * ended.
 */
export const endSeen = (exchange: Exchange): string => {
  if (isVisible(exchange)) return 'an error'
  if (exchange.end === 'timed_out') return exchange.error ?? 'no end'
  return `an ordinary end (${exchange.end})`
}

const heldBackFact = ({ n }: Pick<Exchange, 'n'>): string => `held back #${n}`

/** Notes that a stream's first event did not reach the client, so that later events cannot be judged. */
export const noteHeldBack = (session: Pick<CheckContext, 'note'>, exchange: Exchange): void =>
  session.note(heldBackFact(exchange), true)

/** Returns the doubt about a stream without its first event; null for other streams. */
export const heldBack = (id: string, { facts }: Evidence, exchange: Exchange): Finding | null =>
  facts[heldBackFact(exchange)] === undefined
    ? null
    : doubt(
        id,
        `the first event of "${stepText(exchange)}" did not reach the client before the next one was there`,
        [`#${exchange.n}`],
      )

const ordinary = step('ordinary call')

/** Makes an ordinary, valid call. */
export const ordinaryCall = (session: CheckContext) => session.chat(ordinary)

/** Returns the time of the slowest ordinary call that was answered, ms; 0 if none was. */
export const pace = (evidence: Pick<Evidence, 'exchanges'>): number =>
  Math.max(0, ...ordinary.in(evidence).map(({ at, end_at, status }) => (status === 200 ? end_at - at : 0)))

/** Maximum delay of a stream's event on an idle machine, ms. */
export const EVENT_TIMEOUT_MS = 3_000
/** Number of other calls that a gateway completes while an event is due, before the event counts as held back. */
const CALLS_MEANWHILE = 5

/** Returns false once the gateway holds an event back: it had enough time, and completed other calls. */
export async function saysInTime(session: CheckContext, call: OpenCall, text: string): Promise<boolean> {
  if (await call.says(text, EVENT_TIMEOUT_MS)) return true
  for (let n = 0; n < CALLS_MEANWHILE; n++) {
    await ordinaryCall(session)
    if (await call.says(text, 0)) return true
  }
  return false
}

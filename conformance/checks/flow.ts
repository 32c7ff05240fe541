// What the checks of FLOW share.
import { isDeepStrictEqual } from 'node:util'
import { doubt, type Finding, finding } from '../check.ts'
import type { Evidence, Exchange } from '../evidence.ts'
import { refs, servedBy } from '../lookup.ts'
import { eventsOf, withoutSpace } from '../reading.ts'
import { inWords } from '../step.ts'
import type { Reading } from '../surface.ts'
import { isCrossed, readAnswer, readSent } from '../surfaces.ts'
import { ended } from '../words.ts'

/**
 * What an answer says; the arguments of a tool call are JSON. Across dialects ids of calls may be others, thoughts may have
 * no place, and not every end has a word of its own.
 */
export function meaningOf(reading: Reading, crossed: boolean): Reading {
  const tools = reading.tools.map((tool) => ({
    ...tool,
    arguments: withoutSpace(tool.arguments),
    ...(crossed && { id: '' }),
  }))
  if (!crossed) return { ...reading, tools }
  const finish = reading.finish.map((each) => ({
    ...each,
    reason: each.reason === 'content_filter' ? 'stop' : each.reason,
  }))
  return { ...reading, tools, finish, reasoning: '' }
}

/** What the client read beside what the provider sent, by meaning. */
export function sameAnswer(evidence: Evidence, exchange: Exchange): Finding {
  const entry = servedBy(evidence, exchange)
  const crossed = entry !== null && isCrossed(exchange, entry)
  const [got, sent] = [meaningOf(readAnswer(exchange), crossed), meaningOf(readSent(entry), crossed)]
  const parts = ['content', 'reasoning', 'tools', 'finish'] as const
  const different = parts.filter((part) => !isDeepStrictEqual(got[part], sent[part]))
  const said = sent.content !== '' || sent.tools.length > 0
  const ok = said && different.length === 0 && exchange.end === 'complete' && exchange.utf8
  if (exchange.end === 'timed_out' && isUnderWay(exchange))
    return doubt(
      'same-answer',
      `${inWords(exchange)}: events still arrived when the suite ran out of patience`,
      refs(exchange, entry),
    )
  const [first] = different
  const apart = first && firstDifference(sent[first], got[first])
  return finding(
    'same-answer',
    ok,
    `the answer that the client read in "${inWords(exchange)}"`,
    {
      expected: `what the provider sent${apart ? `, in its ${first} ${apart[0]}` : said ? '' : ', which was nothing'}, to its end`,
      actual: `${apart ? apart[1] : 'the same'}, ended ${exchange.end}${exchange.utf8 ? '' : ', not UTF-8'}`,
    },
    refs(exchange, entry),
  )
}

/** Where two values begin to differ, a few characters of each. */
function firstDifference(one: unknown, other: unknown): readonly [string, string] {
  const texts = [one, other].map((value) => (typeof value === 'string' ? value : JSON.stringify(value))) as [
    string,
    string,
  ]
  const [a, b] = texts
  let at = 0
  while (at < a.length && a[at] === b[at]) at++
  const from = Math.max(0, at - 20)
  const near = (text: string) => JSON.stringify(text.slice(from, at + 30))
  return [near(a), near(b)]
}

/** Something had arrived shortly before the suite gave up: slow is not wrong. */
const isUnderWay = ({ chunks, end_at }: Exchange): boolean => end_at - (chunks.at(-1)?.[1] ?? 0) < 2_000

/** What a client needs before it reads an answer: its content type, and events that can be parsed. */
export function readable(evidence: Evidence, exchange: Exchange): Finding {
  const entry = servedBy(evidence, exchange)
  const streamed = entry?.stream ?? false
  const type = exchange.headers['content-type'] ?? 'none'
  const { unreadable } = readAnswer(exchange)
  const surplus = unreadable - readSent(entry).unreadable
  return finding(
    'readable',
    (streamed ? /^text\/event-stream\b/i : /^application\/([\w.-]+\+)?json\b/i).test(type) && surplus <= 0,
    `whether a client can parse "${inWords(exchange)}", ${ended(exchange)}`,
    {
      expected: `${streamed ? 'text/event-stream' : 'application/json'}, and events that are JSON`,
      actual: `${type}, ${unreadable} events that are no JSON`,
    },
    refs(exchange, entry),
  )
}

/** Whether the client can see that an answer is not whole: the connection broke, an error was said, or it cannot parse it. */
export const isVisible = (exchange: Exchange): boolean =>
  exchange.end === 'cut' ||
  exchange.end === 'refused' ||
  (exchange.status !== null && exchange.status >= 400) ||
  readAnswer(exchange).errors.length > 0 ||
  readAnswer(exchange).unreadable > 0 ||
  eventsOf(exchange.body).some(({ event }) => event === 'error')

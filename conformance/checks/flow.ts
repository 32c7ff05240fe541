// What the checks of FLOW share.
import { isDeepStrictEqual } from 'node:util'
import { doubt, type Finding, finding } from '../check.ts'
import type { Evidence, Exchange } from '../evidence.ts'
import { refs, servedBy } from '../lookup.ts'
import { type ChatReading, eventsOf, readChat, withoutSpace } from '../reading.ts'
import { inWords } from '../step.ts'
import { ended } from '../words.ts'

/** What an answer says; the arguments of a tool call are JSON. */
function meaningOf(body: string): ChatReading {
  const chat = readChat(body)
  const tools = chat.tools.map((tool) => ({ ...tool, arguments: withoutSpace(tool.arguments) }))
  return { ...chat, tools }
}

/** What the client read beside what the provider sent, by meaning. */
export function sameAnswer(evidence: Evidence, exchange: Exchange): Finding {
  const entry = servedBy(evidence, exchange)
  const [got, sent] = [meaningOf(exchange.body), meaningOf(entry?.answer.body ?? '')]
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
  const what = said ? different.map((part) => `another ${part}`).join(' and ') : 'nothing was sent'
  return finding(
    'same-answer',
    ok,
    `the answer that the client read in "${inWords(exchange)}"`,
    {
      expected: 'what the provider sent, to its end',
      actual: `${what || 'the same'}, ended ${exchange.end}${exchange.utf8 ? '' : ', not UTF-8'}`,
    },
    refs(exchange, entry),
  )
}

/** Something had arrived shortly before the suite gave up: slow is not wrong. */
const isUnderWay = ({ chunks, end_at }: Exchange): boolean => end_at - (chunks.at(-1)?.[1] ?? 0) < 2_000

/** What a client needs before it reads an answer: its content type, and events that can be parsed. */
export function readable(evidence: Evidence, exchange: Exchange): Finding {
  const entry = servedBy(evidence, exchange)
  const streamed = entry?.stream ?? false
  const type = exchange.headers['content-type'] ?? 'none'
  const { unreadable } = readChat(exchange.body)
  const surplus = unreadable - readChat(entry?.answer.body ?? '').unreadable
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

/** Whether the client can see that an answer is not whole: the connection broke, or an error was said. */
export const isVisible = ({ end, status, body }: Exchange): boolean =>
  end === 'cut' ||
  end === 'refused' ||
  (status !== null && status >= 400) ||
  readChat(body).errors.length > 0 ||
  eventsOf(body).some(({ event }) => event === 'error')

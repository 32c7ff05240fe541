// STATE-01: A turn that continues a thread (`thread.previous_message_id`) reaches the provider that gave that
// message, even after a restart. Otherwise the turn is refused without an inference (Waybill: 404, with
// `thread_not_found` in `error.details.error_code`).
import type { LedgerEntry } from '../../mocks/ledger.ts'
import { holdsWords, modelsOf, ref, refs, requestsOf, servedBy, where } from '../dialects/lookup.ts'
import { dialectOf, isCrossed } from '../dialects/registry.ts'
import type { Evidence, Exchange } from '../evidence/evidence.ts'
import { at, jsonOf } from '../evidence/reading.ts'
import { step, stepText } from '../evidence/step.ts'
import { endText, listed } from '../evidence/wording.ts'
import { type Check, finding } from '../runner/check.ts'

export const NOBODYS = 'msg_of_nobody_waybill'

export const threadSteps = {
  first: step<{ model: string }>('a thread begins'),
  next: step<{ model: string }>('the thread goes on'),
  unknown: step('a thread of nobody goes on'),
}

/** Headers with which the official clients request this feature. */
const HEADERS = { 'anthropic-version': '2026-10-21', 'anthropic-beta': 'message-threads-2026-08-12' }

/** Returns the body of a turn that continues a thread, without the earlier turns. */
const continuing = (previous_message_id: string) => ({
  headers: HEADERS,
  body: { thread: { type: 'continue', previous_message_id } },
  prompt: 'And then?',
})

export const isAnswered = ({ answer }: LedgerEntry): boolean => answer.status === 200

/** Returns the call that began the thread of a later call. */
export const firstOf = (evidence: Evidence, { details }: Pick<Exchange, 'details'>): Exchange =>
  threadSteps.first.in(evidence).find((each) => each.details.model === details.model)!

/** Returns true if the provider received the id of its own answer or the whole conversation. */
export function keepsHistory(evidence: Evidence, first: Exchange, entry: LedgerEntry): boolean {
  const made = servedBy(evidence, first)
  const isMaker = made !== null && !isCrossed(first, made) && made.provider === entry.provider
  const named = at(entry.body, '/thread/previous_message_id')
  return (
    (isMaker && named !== undefined && named === at(jsonOf(made.answer.body ?? ''), '/id')) ||
    holdsWords(entry, first)
  )
}

/** Returns true if a turn was refused in the client's dialect without any spending. */
export const isRefused = (exchange: Exchange, entries: readonly LedgerEntry[]): boolean =>
  !entries.some(isAnswered) &&
  exchange.status !== null &&
  exchange.status >= 400 &&
  exchange.status < 500 &&
  dialectOf(exchange).isError(exchange.body)

/** Returns true if an error has this code in the place that the official clients read. */
export const hasCode = ({ body }: Exchange, code: string): boolean =>
  at(jsonOf(body), '/error/details/error_code') === code

export const threadsStay = {
  id: 'STATE-01',
  needs: ['messages'],
  dialect: 'messages',
  async exercise(session) {
    const logical = session.target.models.logical.map(({ id }) => id)
    for (const model of new Set([...modelsOf(session), ...logical])) {
      const begin = { model, headers: HEADERS, body: { thread: { type: 'create' } } }
      const first = await session.chat(threadSteps.first.with({ model }), begin)
      const id = at(jsonOf(first.body), '/id')
      const go = continuing(first.status === 200 && typeof id === 'string' ? id : NOBODYS)
      await session.chat(threadSteps.next.with({ model }), { model, ...go })
    }
    await session.chat(threadSteps.unknown, continuing(NOBODYS))
  },
  judge: ({ evidence, waybill }) => [
    ...threadSteps.next.in(evidence).flatMap((exchange) => {
      const first = firstOf(evidence, exchange)
      const made = servedBy(evidence, first)
      if (first.status !== 200 || made === null || isCrossed(first, made)) return []
      const entries = requestsOf(evidence, exchange)
      const stays = entries.length > 0 && entries.every((entry) => keepsHistory(evidence, first, entry))
      return [
        finding(
          'thread-stays',
          stays || (!waybill && isRefused(exchange, entries)),
          `the turn of "${stepText(exchange)}"`,
          {
            expected: `${made.provider} is asked with the id of its answer, or the turn is refused and nothing is sent`,
            actual: `${endText(exchange)}; asked: ${listed(entries.map(where), 'nobody')}`,
          },
          [...refs(first, exchange), ...entries.map(ref)],
        ),
      ]
    }),
    ...threadSteps.unknown.in(evidence).map((exchange) => {
      const entries = requestsOf(evidence, exchange)
      const isNamed = !waybill || (exchange.status === 404 && hasCode(exchange, 'thread_not_found'))
      return finding(
        'unknown-thread-is-refused',
        isRefused(exchange, entries) && isNamed,
        'a turn that continues a message of nobody',
        {
          expected: waybill ? '404 thread_not_found, and nothing is spent' : 'a 4xx, and nothing is spent',
          actual: `${endText(exchange)}; answered by ${listed(entries.filter(isAnswered).map(where), 'nobody')}`,
        },
        [...refs(exchange), ...entries.map(ref)],
      )
    }),
  ],
} satisfies Check

// Checks of threads, containers and other objects that a provider keeps.
import type { LedgerEntry } from '../../mocks/ledger.ts'
import type { DialectName } from '../dialects/dialect.ts'
import {
  dialectOf,
  holdsWords,
  isCrossed,
  modelsOf,
  ref,
  refs,
  requestsOf,
  servedBy,
  where,
} from '../dialects/lookup.ts'
import { type Evidence, type Exchange, endText, listed, step, stepText } from '../evidence/evidence.ts'
import { at, jsonOf } from '../evidence/reading.ts'
import { each, family, finding } from './check.ts'
import { namesLoss } from './dial/asked.ts'

const check = family({ needs: ['messages'], dialect: 'messages' })

const NOBODYS = 'msg_of_nobody_waybill'

const threadSteps = {
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

const isAnswered = ({ answer }: LedgerEntry): boolean => answer.status === 200

/** Returns the call that began the thread of a later call. */
const firstOf = (evidence: Evidence, { details }: Pick<Exchange, 'details'>): Exchange =>
  threadSteps.first.in(evidence).find((each) => each.details.model === details.model)!

/** Returns true if the provider received the id of its own answer or the whole conversation. */
function keepsHistory(evidence: Evidence, first: Exchange, entry: LedgerEntry): boolean {
  const made = servedBy(evidence, first)
  const isMaker = made !== null && !isCrossed(first, made) && made.provider === entry.provider
  const named = at(entry.body, '/thread/previous_message_id')
  return (
    (isMaker && named !== undefined && named === at(jsonOf(made.answer.body ?? ''), '/id')) ||
    holdsWords(entry, first)
  )
}

/** Returns true if a turn was refused in the client's dialect without any spending. */
const isRefused = (exchange: Exchange, entries: readonly LedgerEntry[]): boolean =>
  !entries.some(isAnswered) &&
  exchange.status !== null &&
  exchange.status >= 400 &&
  exchange.status < 500 &&
  dialectOf(exchange).isError(exchange.body)

/** Returns true if an error has this code in the place that the official clients read. */
const codeOf = ({ body }: Exchange): unknown => at(jsonOf(body), '/error/details/error_code')
const hasCode = (exchange: Exchange, code: string): boolean => codeOf(exchange) === code

check('STATE-01', {
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
  judge: [
    each(threadSteps.next, ({ exchange, quoted, evidence, waybill }) => {
      const first = firstOf(evidence, exchange)
      const made = servedBy(evidence, first)
      if (first.status !== 200 || made === null || isCrossed(first, made)) return []
      const entries = requestsOf(evidence, exchange)
      const stays = entries.length > 0 && entries.every((entry) => keepsHistory(evidence, first, entry))
      return {
        'thread-stays': [
          stays || (!waybill && isRefused(exchange, entries)),
          `the turn of ${quoted}`,
          `${made.provider} is asked with the id of its answer, or the turn is refused and nothing is sent`,
          `${endText(exchange)}; asked: ${listed(entries.map(where), 'nobody')}`,
          [...refs(first, exchange), ...entries.map(ref)],
        ],
      }
    }),
    each(threadSteps.unknown, ({ exchange, evidence, waybill }) => {
      const entries = requestsOf(evidence, exchange)
      const isNamed = !waybill || (exchange.status === 404 && hasCode(exchange, 'thread_not_found'))
      return {
        'unknown-thread-is-refused': [
          isRefused(exchange, entries) && isNamed,
          'a turn that continues a message of nobody',
          waybill ? '404 thread_not_found, and nothing is spent' : 'a 4xx, and nothing is spent',
          `${endText(exchange)}; answered by ${listed(entries.filter(isAnswered).map(where), 'nobody')}`,
          [...refs(exchange), ...entries.map(ref)],
        ],
      }
    }),
  ],
})

check('STATE-02', {
  shares: 'STATE-01',
  judge: each(threadSteps.next, ({ exchange, quoted, evidence, waybill }) => {
    const first = firstOf(evidence, exchange)
    const entries = requestsOf(evidence, exchange).filter(isAnswered)
    const made = servedBy(evidence, first)
    const isHeld = first.status === 200 && made !== null && !isCrossed(first, made)
    const see = [...refs(first, exchange), ...entries.map(ref)]
    const history = finding(
      'no-turn-loses-its-history',
      entries.every((entry) => keepsHistory(evidence, first, entry)),
      `the turn of ${quoted}`,
      {
        expected: 'the provider holds the thread or gets all of it, or nothing is sent',
        actual: `${endText(exchange)}; answered by ${listed(entries.map(where), 'nobody')}`,
      },
      see,
    )
    if (isHeld || !waybill) return [history]
    const words = first.status === 400 && hasCode(first, 'thread_unsupported_request')
    return [
      history,
      {
        'refused-in-its-words': [
          words && isRefused(first, requestsOf(evidence, first)),
          `the beginning of "${stepText(first)}"`,
          '400 thread_unsupported_request, and nothing is spent',
          `${endText(first)} with the code ${codeOf(first) ?? 'missing'}`,
          see,
        ],
      },
    ]
  }),
})

/** Step of a call; `what` is the name of an object in OBJECTS. */
const call = step<{ model: string; what: string }>('call')

/** Mark that occurs in each id. */
const MARK = 'of_nobody_waybill'

/** Only object here that is not part of the conversation. */
const CONTAINER = 'a container'

/** Objects that only a provider of this dialect can store, in the form in which a request names them. */
const OBJECTS: Readonly<Partial<Record<DialectName, Readonly<Record<string, object>>>>> = {
  messages: { [CONTAINER]: { container: `container_${MARK}` } },
  responses: {
    'a conversation': { conversation: `conv_${MARK}` },
    'a stored prompt': { prompt: { id: `pmpt_${MARK}` } },
    'an item': {
      input: [
        { type: 'item_reference', id: `msg_${MARK}` },
        { role: 'user', content: 'Go on. {nonce}' },
      ],
    },
  },
}

check('STATE-03', {
  async exercise(session) {
    for (const [what, body] of Object.entries(OBJECTS[session.dialect.name] ?? {}))
      for (const model of modelsOf(session)) await session.chat(call.with({ model, what }), { model, body })
  },
  judge: each(call, ({ exchange, details, quoted, evidence }) => {
    const entries = requestsOf(evidence, exchange)
    const answered = entries.filter(isAnswered)
    const others = answered.filter(
      (entry) => isCrossed(exchange, entry) || !JSON.stringify(entry.body).includes(MARK),
    )
    return {
      'only-its-keeper-is-asked': [
        (others.length === 0 && (answered.length > 0 || isRefused(exchange, entries))) ||
          (details.what === CONTAINER && namesLoss(exchange)),
        `who was asked in ${quoted}`,
        'a provider that may have it, with its id, or nobody, and a 4xx',
        `${endText(exchange)}; without it, or where it cannot be: ${listed(others.map(where), 'nobody')}`,
        [...refs(exchange), ...entries.map(ref)],
      ],
    }
  }),
})

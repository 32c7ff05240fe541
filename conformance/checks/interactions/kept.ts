// Checks of Google's interactions that are stored: continued, read, deleted, and run in the background.

import { stepwise, UNFINISHED } from '../../dialects/interactions.ts'
import { holdsWords, isCrossed, modelsOf, refs, requestsOf, servedBy } from '../../dialects/lookup.ts'
import { type Evidence, type Exchange, endText, step } from '../../evidence/evidence.ts'
import { at, jsonOf, readEvents } from '../../evidence/reading.ts'
import { declares } from '../../target/schema.ts'
import { callEach, each, family } from '../check.ts'
import { deleteKept, judgeStore, keptSteps, nothingSpent, unlikeGiven } from '../kept.ts'

const check = family({ needs: ['interactions'], dialect: 'interactions' })

const PREVIOUS = 'previous_interaction_id'
const GONE = [401, 403, 404]

/** Returns the id of an interaction, whole or streamed; null if it has none. */
function idIn({ body }: Pick<Exchange, 'body'>): string | null {
  const events = readEvents(body).map(({ data }) => at(jsonOf(data), '/interaction/id'))
  const id = at(jsonOf(body), '/id') ?? events.find((one) => one !== undefined)
  return typeof id === 'string' ? id : null
}

const statusIn = ({ body }: Pick<Exchange, 'body'>): unknown => at(jsonOf(body), '/status')

/** Describes an answer, and what the provider got. */
const seen = (exchange: Exchange, sent?: unknown): string =>
  `${endText(exchange)}${sent === undefined ? '' : `; the provider got ${JSON.stringify(sent)}`}: ${exchange.body.slice(0, 100)}`

/** Returns true for an error without an inference. */
const isRefused = (evidence: Evidence, exchange: Exchange): boolean =>
  requestsOf(evidence, exchange).every(({ answer }) => answer.status !== 200) &&
  (exchange.status ?? 0) >= 400 &&
  (exchange.status ?? 0) < 500

/** Returns true if the provider that made an interaction stores it for the gateway. */
function madeBy(evidence: Evidence, first: Exchange) {
  const made = servedBy(evidence, first)
  return made !== null && !isCrossed(first, made) ? made : null
}

const stored = step<{ store: boolean; stream: boolean }>('a call')
const turn = (name: string) => keptSteps(name).made
const following = {
  first: turn('first'),
  next: turn('next'),
  elsewhere: turn('next, at another model'),
  foreign: turn('next, with another key'),
  unknown: step('next after an unknown id'),
}

const UNKNOWN_ID = 'v1_unknown_to_waybill'

check('INT-07', {
  needs: ['interactions', 'continued_interactions'],
  exercise: [
    callEach(stored, { store: [true, false], stream: [false, true] }, ({ store, stream }) => ({
      ...{ stream, body: { store } },
    })),
    async (session) => {
      const models = modelsOf(session)
      const { other } = session.running.keys
      for (const model of models)
        for (const stream of [false, true]) {
          const made = { model, stream }
          const id = idIn(await session.chat(following.first.with(made), made))
          if (id === null) continue
          const body = { [PREVIOUS]: id }
          await session.chat(following.next.with(made), { ...made, body })
          for (const another of models)
            if (another !== model)
              await session.chat(following.elsewhere.with(made), { ...made, model: another, body })
          if (other !== null) await session.chat(following.foreign.with(made), { ...made, body, key: other })
        }
      await session.chat(following.unknown, { body: { [PREVIOUS]: UNKNOWN_ID } })
    },
  ],
  judge: [
    judgeStore(stored),
    each([following.next, following.elsewhere], ({ exchange, entry, details, quoted, evidence }) => {
      const { model, stream } = details
      const first = following.first
        .in(evidence)
        .find((one) => one.details.model === model && one.details.stream === stream)!
      const own = madeBy(evidence, first)
      const sent = at(entry?.body, `/${PREVIOUS}`)
      const isOwn = own !== null && sent === idIn({ body: own.answer.body ?? '' })
      const isThere = isOwn && entry?.provider === own?.provider
      // A gateway that stores nothing cannot continue what was translated, or elsewhere.
      const mayRefuse = own === null || exchange.step !== 'next'
      return {
        [exchange.step === 'next' ? 'history-is-never-dropped' : 'id-stays-with-its-maker']: [
          isThere ||
            (entry !== null && sent === undefined && holdsWords(entry, first)) ||
            (mayRefuse && isRefused(evidence, exchange)),
          `what became of ${PREVIOUS} in ${quoted}`,
          `its own id at the provider that made it, or the whole history${mayRefuse ? ', or a refusal' : ''}`,
          seen(exchange, sent),
          refs(first, exchange, entry),
        ],
      }
    }),
    each(following.foreign, ({ exchange, quoted, evidence }) => ({
      'other-keys-continue-nothing': [
        isRefused(evidence, exchange),
        `the answer to ${quoted}`,
        'a 4xx, and no inference',
        seen(exchange),
      ],
    })),
    each(following.unknown, ({ exchange, entry, evidence, waybill }) => {
      const sent = at(entry?.body, `/${PREVIOUS}`)
      return {
        'unknown-is-refused': [
          (!waybill && sent === UNKNOWN_ID) || isRefused(evidence, exchange),
          `the answer to a call ${exchange.step}`,
          `a 4xx without an inference${waybill ? '' : ', or the id at the provider'}`,
          seen(exchange, sent),
        ],
      }
    }),
  ],
})

const kept = {
  ...keptSteps('an interaction is made'),
  unkept: step('an interaction is made with store false'),
  unkeptRead: step('what was not stored is read'),
}

check('INT-08', {
  needs: ['interactions', 'kept_interactions'],
  async exercise(session) {
    const pathOf = (id: string) => `${session.dialect.path}/${encodeURIComponent(id)}`
    for (const model of modelsOf(session))
      for (const stream of [false, true]) {
        const made = { model, stream }
        const id = idIn(await session.chat(kept.made.with(made), made))
        if (id === null) continue
        const path = pathOf(id)
        const { status } = await session.ask(kept.read.with(made), path)
        if (status !== 200) continue
        await deleteKept(session, kept, made, path)
        if (declares(session.target, 'continued_interactions'))
          await session.chat(kept.continued.with(made), { model, body: { [PREVIOUS]: id } })
      }
    const id = idIn(await session.chat(kept.unkept, { body: { store: false } }))
    if (id !== null) await session.ask(kept.unkeptRead, pathOf(id))
    await session.drain()
  },
  judge: [
    each(kept.read, ({ exchange, details, quoted, evidence }) => {
      const { model, stream } = details
      const made = kept.made
        .in(evidence)
        .find((one) => one.details.model === model && one.details.stream === stream)!
      const [was, is] = [made, exchange].map(({ body }) => stepwise.read(body))
      // A gateway that stores nothing itself has only what its provider stores.
      if (madeBy(evidence, made) === null && exchange.status !== 200) return []
      return {
        'is-read': [
          exchange.status === 200 && idIn(exchange) === idIn(made) && is!.content === was!.content,
          `the answer to ${quoted}`,
          '200, and the interaction as it was given',
          unlikeGiven(exchange, [idIn(exchange), is!.content], [idIn(made), was!.content]),
          refs(made, exchange),
        ],
      }
    }),
    each([kept.foreignRead, kept.foreignDelete], ({ exchange, quoted }) => ({
      'other-keys-get-nothing': [
        GONE.includes(exchange.status ?? 0),
        `the answer to ${quoted}`,
        '401, 403 or 404',
        seen(exchange),
      ],
    })),
    each(kept.readAgain, ({ exchange, quoted }) => ({
      'other-keys-delete-nothing': [
        exchange.status === 200,
        `the answer to ${quoted}`,
        '200, since it is still there',
        seen(exchange),
      ],
    })),
    each(kept.gone, ({ exchange, quoted }) => ({
      'is-gone': [
        [404, 410].includes(exchange.status ?? 0),
        `the answer to ${quoted}`,
        '404 or 410',
        seen(exchange),
      ],
    })),
    each(kept.continued, ({ exchange, quoted, evidence }) => ({
      'is-not-continued': [
        isRefused(evidence, exchange),
        `the answer to ${quoted}`,
        'a 4xx, and no inference',
        seen(exchange),
      ],
    })),
    each(kept.unkeptRead, ({ exchange, quoted, waybill }) =>
      waybill
        ? {
            'unstored-is-unknown': [
              exchange.status === 404,
              `the answer to ${quoted}`,
              '404',
              seen(exchange),
            ],
          }
        : [],
    ),
    ({ evidence }) =>
      madeBy(evidence, kept.made.in(evidence)[0]!) === null && kept.deleted.in(evidence).length === 0
        ? { 'is-read': { absent: 'Every interaction was translated, and none is stored.' } }
        : nothingSpent(evidence),
  ],
})

const background = {
  made: step<{ model: string; is: string }>('an interaction is started'),
  read: step<{ model: string; is: string }>('it is read'),
  foreign: step<{ model: string; is: string }>('another key cancels it'),
  cancelled: step<{ model: string; is: string }>('it is cancelled'),
  after: step<{ model: string; is: string }>('it is read after that'),
}

/** Maximum reads until an interaction has ended, and the time between them, ms. */
const MAX_READS = 20
const READ_MS = 100
/** Duration of an inference that is cancelled, ms. */
const SLOW_MS = 5_000

check('INT-09', {
  needs: ['interactions', 'background_interactions'],
  async exercise(session) {
    const { other } = session.running.keys
    for (const model of modelsOf(session))
      for (const is of ['awaited', 'cancelled']) {
        const details = { model, is }
        const body = { background: true, store: true }
        // A gateway that runs an interaction itself must not have finished before it is cancelled.
        const script =
          is === 'cancelled' ? [{ wait: SLOW_MS, say: { text: 'It begins at the ford.' } }] : undefined
        const call = { model, body, ...(script && { script }) }
        const id = idIn(await session.chat(background.made.with(details), call))
        if (id === null) continue
        const path = `${session.dialect.path}/${encodeURIComponent(id)}`
        if (is === 'cancelled') {
          const cancel = { method: 'POST', headers: session.callHeaders, body: '{}' }
          if (other !== null)
            await session.ask(background.foreign.with(details), `${path}/cancel`, { ...cancel, key: other })
          await session.ask(background.cancelled.with(details), `${path}/cancel`, cancel)
          await session.ask(background.after.with(details), path)
        } else
          for (let n = 0; n < MAX_READS; n++) {
            const exchange = await session.ask(background.read.with(details), path)
            if (!UNFINISHED.includes(String(statusIn(exchange)))) break
            await session.wait(READ_MS)
          }
      }
    await session.drain()
  },
  judge: [
    each(background.made, ({ exchange, details, quoted, evidence }) => {
      // Only providers of this dialect can work in the background.
      if (isRefused(evidence, exchange)) return []
      const reads = background.read.in(evidence).filter((one) => one.details.model === details.model)
      const [last, sent] = [reads.at(-1), requestsOf(evidence, exchange)]
      return {
        'id-is-given': [
          exchange.status === 200 && idIn(exchange) !== null,
          `the answer to ${quoted}`,
          '200 with an id',
          seen(exchange),
        ],
        'is-one-inference': [
          sent.length === 1,
          `requests of ${quoted}`,
          '1',
          String(sent.length),
          refs(...sent),
        ],
        'ends-whole': details.is === 'awaited' && [
          last?.status === 200 && statusIn(last) === 'completed' && stepwise.read(last.body).content !== '',
          `the interaction of ${quoted}, after ${reads.length} reads`,
          'completed, with its text',
          last ? seen(last) : 'no read',
          refs(exchange, last),
        ],
      }
    }),
    each(background.foreign, ({ exchange, quoted, evidence, details }) => {
      const own = background.cancelled.in(evidence).find((one) => one.details.model === details.model)
      return {
        'other-keys-cancel-nothing': [
          GONE.includes(exchange.status ?? 0) && own?.status === 200,
          `the answer to ${quoted}`,
          '401, 403 or 404; its own key can still cancel it',
          seen(exchange),
          refs(exchange, own),
        ],
      }
    }),
    each([background.cancelled, background.after], ({ exchange, quoted }) => ({
      'cancelled-stays-so': [
        exchange.status === 200 && statusIn(exchange) === 'cancelled',
        `the status after ${quoted}`,
        'cancelled',
        seen(exchange),
      ],
    })),
    ({ evidence }) =>
      background.made.in(evidence).every((one) => isRefused(evidence, one))
        ? { 'id-is-given': { absent: 'Every call in the background is refused.' } }
        : nothingSpent(evidence),
  ],
})

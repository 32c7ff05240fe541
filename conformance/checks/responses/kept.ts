// Checks of the Responses dialect: answers that are stored, continued, read and deleted.
import {
  dialectOf,
  holdsWords,
  isCrossed,
  modelsOf,
  refs,
  requestsOf,
  servedBy,
} from '../../dialects/lookup.ts'
import { responses } from '../../dialects/responses.ts'
import { type Evidence, type Exchange, endText, step, stepText } from '../../evidence/evidence.ts'
import { at, jsonOf } from '../../evidence/reading.ts'
import { declares } from '../../target/schema.ts'
import { doubt, each, type Finding, family, finding, type Told } from '../check.ts'
import { deleteKept, judgeStore, keptSteps, nothingSpent, unlikeGiven } from '../kept.ts'
import { answeredOf, goesOn, response, responseIdIn } from './parts.ts'

const check = family({ needs: ['responses'], dialect: 'responses' })

const storing = {
  call: step<{ store: boolean; stream: boolean }>('call'),
  next: step('goes on from what was not kept'),
}

check('RSP-05', {
  since: 4,
  relays: true,
  async exercise(session) {
    let lost: unknown
    for (const store of [true, false])
      for (const stream of [true, false]) {
        const { body } = await session.chat(storing.call.with({ store, stream }), {
          ...{ stream, body: { store } },
          ...(!stream && { script: [{ body: { ...response(), id: 'resp_synthetic_0000', store } }] }),
        })
        lost = at(jsonOf(body), '/id')
      }
    if (typeof lost === 'string') await session.chat(storing.next, { body: { previous_response_id: lost } })
  },
  judge: [
    judgeStore(storing.call),
    each(storing.next, ({ exchange, evidence, waybill }) => {
      if (!waybill) return []
      const requests = requestsOf(evidence, exchange)
      return {
        'what-was-not-kept-is-unknown': [
          exchange.status === 400 &&
            exchange.body.includes('previous_response_not_found') &&
            requests.length === 0,
          `the answer to a call that ${exchange.step}`,
          '400 previous_response_not_found, and nothing at the mock',
          `${endText(exchange)}, and ${requests.length} requests: ${exchange.body.slice(0, 100)}`,
          refs(exchange, ...requests),
        ],
      }
    }),
  ],
})

const NOBODYS = 'resp_of_nobody_waybill'

const following = {
  first: step<{ model: string }>('first'),
  next: step<{ model: string }>('next'),
  unknown: step('of nobody'),
}

check('RSP-06', {
  async exercise(session) {
    for (const model of modelsOf(session)) {
      const first = await session.chat(following.first.with({ model }), { model, body: { store: true } })
      const id = at(jsonOf(first.body), '/id')
      if (typeof id !== 'string') session.untestable(`the answer to a call of ${model} has no id`)
      await session.chat(following.next.with({ model }), {
        model,
        body: { store: true, previous_response_id: id },
      })
    }
    await session.chat(following.unknown, { body: { previous_response_id: NOBODYS } })
  },
  judge: [
    each(following.next, ({ exchange, entry, quoted, evidence, waybill }) => {
      const first = following.first
        .in(evidence)
        .find(({ details }) => details.model === exchange.details.model)
      const made = first && servedBy(evidence, first)
      const sent = at(entry?.body, '/previous_response_id')
      const native = made != null && !isCrossed(first!, made)
      // A gateway may send the whole history to the provider instead, but must not lose the history.
      const kept =
        entry !== null &&
        ((native && sent === at(jsonOf(made.answer.body ?? ''), '/id') && entry.provider === made.provider) ||
          holdsWords(entry, first!))
      return {
        'history-is-never-dropped': [
          // If the provider does not store answers, an id may be refused with the message for this case.
          kept || (!native && isRefused(evidence, exchange, waybill)),
          `what became of previous_response_id in ${quoted}`,
          native
            ? 'it reaches the provider that made that answer'
            : 'the provider gets the whole history, or nothing is sent and it is called unknown',
          `${endText(exchange)}; the provider got ${JSON.stringify(sent) ?? 'none'}`,
        ],
      }
    }),
    each(following.unknown, ({ exchange, entry, evidence, waybill }) => {
      const sent = at(entry?.body, '/previous_response_id')
      return {
        'unknown-is-called-so': [
          (!waybill && sent === NOBODYS) || isRefused(evidence, exchange, waybill),
          'what became of a previous_response_id that nobody gave',
          `it is refused as ${waybill ? '400 previous_response_not_found' : '400 or 404'} without an inference${waybill ? '' : ', or the provider is asked with it'}`,
          `${endText(exchange)}; the provider got ${JSON.stringify(sent) ?? 'none'}: ${exchange.body.slice(0, 100)}`,
        ],
      }
    }),
  ],
})

/**
 * Returns true if the call was refused for its id without spending: clients then send the whole history
 * instead.
 */
const isRefused = (evidence: Evidence, exchange: Exchange, waybill: boolean): boolean =>
  requestsOf(evidence, exchange).length === 0 &&
  dialectOf(exchange).isError(exchange.body) &&
  (waybill
    ? exchange.status === 400 && exchange.body.includes('previous_response_not_found')
    : [400, 404, 422].includes(exchange.status ?? 0))

const turn = step<{ model: string; n: number; stream: boolean }>('turn')

/** Turns of a conversation. */
const TURNS = 20

check('RSP-16', {
  needs: ['responses', 'continuation'],
  async exercise(session) {
    for (const model of modelsOf(session)) {
      let id: string | null = null
      for (let n = 1; n <= TURNS; n++) {
        const stream = n % 2 === 0
        const body = { store: true, ...(id !== null && { previous_response_id: id }) }
        const exchange = await session.chat(turn.with({ model, n, stream }), { model, stream, body })
        id = exchange.status === 200 ? responseIdIn(exchange) : null
        if (id === null) break
      }
    }
  },
  judge({ evidence }) {
    const turns = turn.in(evidence)
    return turns.map((exchange): Told => {
      const { model, n } = exchange.details
      const before = turns.find(({ details }) => details.model === model && details.n === n - 1)
      if (before === undefined)
        return exchange.status === 200
          ? []
          : [doubt('goes-on-at-once', `${stepText(exchange)}: ${endText(exchange)}`, refs(exchange))]
      const waited = Math.round(exchange.at - before.end_at)
      return {
        'goes-on-at-once': [
          goesOn(evidence, before, exchange),
          `"${stepText(exchange)}", ${waited} ms after the answer before it`,
          'the provider gets its own id, or the whole history',
          `${endText(exchange)}: ${exchange.body.slice(0, 100)}`,
          refs(before, exchange, servedBy(evidence, exchange)),
        ],
      }
    })
  },
})

const restart = {
  before: step<{ model: string; stream: boolean }>('before the restart'),
  after: step<{ model: string; stream: boolean }>('after the restart'),
}

check('RSP-17', {
  needs: ['responses', 'continuation', 'restart'],
  timeout: 90_000,
  async exercise(session) {
    const running = await session.another(null)
    const made = []
    for (const model of modelsOf(session))
      for (const stream of [false, true]) {
        const details = { model, stream }
        const answer = await session.chat(restart.before.with(details), { ...details, body: { store: true } })
        made.push({ details, id: responseIdIn(answer) })
      }
    await running.stop()
    await running.start()
    for (const { details, id } of made)
      if (id !== null)
        await session.chat(restart.after.with(details), {
          ...details,
          body: { store: true, previous_response_id: id },
        })
  },
  judge({ evidence }) {
    const before = restart.before.in(evidence)
    const after = restart.after.in(evidence)
    if (after.length === 0)
      return [doubt('goes-on-after-restart', 'No answer had an id.', refs(...before.slice(0, 3)))]
    return after.map((exchange): Told => {
      const { model, stream } = exchange.details
      const first = before.find(({ details }) => details.model === model && details.stream === stream)!
      return {
        'goes-on-after-restart': [
          goesOn(evidence, first, exchange),
          `"${stepText(exchange)}"`,
          'the provider gets its own id, or the whole history',
          `${endText(exchange)}: ${exchange.body.slice(0, 100)}`,
          refs(first, exchange, servedBy(evidence, exchange)),
        ],
      }
    })
  },
})

const kept = keptSteps('an answer is made')

const isOneOf = ({ status }: Exchange, statuses: readonly number[]): boolean =>
  status !== null && statuses.includes(status)

check('RSP-20', {
  needs: ['responses', 'kept_responses'],
  async exercise(session) {
    for (const model of modelsOf(session))
      for (const stream of [false, true]) {
        const made = { model, stream }
        const answer = await session.chat(kept.made.with(made), { ...made, body: { store: true } })
        const id = responseIdIn(answer)
        if (id === null) continue
        const path = `${session.dialect.path}/${encodeURIComponent(id)}`
        await session.ask(kept.read.with(made), path)
        await deleteKept(session, kept, made, path)
        if (declares(session.target, 'continuation'))
          await session.chat(kept.continued.with(made), {
            model,
            body: { store: true, previous_response_id: id },
          })
      }
    await session.drain()
  },
  judge({ evidence }) {
    const findings = kept.made.in(evidence).flatMap((made): Finding[] => {
      const of = (kind: (typeof kept)[keyof typeof kept]) =>
        kind
          .in(evidence)
          .find(
            ({ details: { model, stream } }) =>
              model === made.details.model && stream === made.details.stream,
          )
      const [read, deleted, gone] = [of(kept.read), of(kept.deleted), of(kept.gone)]
      const entry = servedBy(evidence, made)
      const isTranslated = entry !== null && isCrossed(made, entry)
      // A gateway that stores no answers relies on the provider's copy.
      if (!read || !deleted || !gone || (isTranslated && read.status !== 200)) return []
      const [id, givenId] = [at(jsonOf(read.body), '/id'), responseIdIn(made)]
      const [content, given] = [read, made].map(({ body }) => responses.read(body).content) as [
        string,
        string,
      ]
      const judged = (
        id: string,
        ok: boolean,
        exchange: Exchange,
        expected: string,
        actual = `${endText(exchange)}: ${exchange.body.slice(0, 100)}`,
      ) =>
        finding(id, ok, `the answer to "${stepText(exchange)}"`, { expected, actual }, refs(made, exchange))
      const foreign = [of(kept.foreignRead), of(kept.foreignDelete)].filter((each) => each !== undefined)
      const again = of(kept.readAgain)
      const continued = of(kept.continued)
      return [
        judged(
          'is-read',
          read.status === 200 && id === givenId && content === given,
          read,
          '200, and the answer as it was given',
          unlikeGiven(read, [typeof id === 'string' ? id : null, content], [givenId, given]),
        ),
        ...foreign.map((each) =>
          judged('other-keys-get-nothing', isOneOf(each, [401, 403, 404]), each, '401, 403 or 404'),
        ),
        ...(again
          ? [judged('other-keys-delete-nothing', again.status === 200, again, '200, since it is still there')]
          : []),
        judged('is-gone', isOneOf(deleted, [200, 202, 204]), deleted, '200, 202 or 204'),
        judged('is-gone', isOneOf(gone, [404, 410]), gone, '404 or 410'),
        ...(continued
          ? [
              judged(
                'is-not-continued',
                continued.status !== 200 && answeredOf(evidence, continued).length === 0,
                continued,
                'an error, and no inference',
              ),
            ]
          : []),
      ]
    })
    if (findings.length === 0)
      return { 'is-read': { absent: 'Every answer was translated, and none is kept.' } }
    return [...findings, nothingSpent(evidence)]
  },
})

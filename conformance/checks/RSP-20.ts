// RSP-20: Only the key that made a stored answer can read it, without an inference. After DELETE the answer can no
// longer be read or continued.
import { modelsOf, refs, servedBy } from '../dialects/lookup.ts'
import { isCrossed } from '../dialects/registry.ts'
import { responses } from '../dialects/responses.ts'
import type { Exchange } from '../evidence/evidence.ts'
import { at, jsonOf } from '../evidence/reading.ts'
import { step, stepText } from '../evidence/step.ts'
import { endText } from '../evidence/wording.ts'
import { absent, type Check, type Finding, finding } from '../runner/check.ts'
import { declares } from '../target/schema.ts'
import { answeredOf, responseIdIn } from './responses.ts'

interface Made extends Readonly<Record<string, string | boolean>> {
  readonly model: string
  readonly stream: boolean
}

const steps = {
  made: step<Made>('an answer is made'),
  read: step<Made>('it is read'),
  foreignRead: step<Made>('another key reads it'),
  foreignDelete: step<Made>('another key deletes it'),
  readAgain: step<Made>('it is read again'),
  deleted: step<Made>('it is deleted'),
  gone: step<Made>('it is read after that'),
  continued: step<Made>('it is continued after that'),
}

const isOneOf = ({ status }: Exchange, statuses: readonly number[]): boolean =>
  status !== null && statuses.includes(status)

export const keptUntilDeleted = {
  id: 'RSP-20',
  needs: ['responses', 'kept_responses'],
  dialect: 'responses',
  async exercise(session) {
    const { other } = session.running.keys
    for (const model of modelsOf(session))
      for (const stream of [false, true]) {
        const made = { model, stream }
        const answer = await session.chat(steps.made.with(made), { ...made, body: { store: true } })
        const id = responseIdIn(answer)
        if (id === null) continue
        const path = `${session.dialect.path}/${encodeURIComponent(id)}`
        await session.ask(steps.read.with(made), path)
        if (other !== null) {
          await session.ask(steps.foreignRead.with(made), path, { key: other })
          await session.ask(steps.foreignDelete.with(made), path, { key: other, method: 'DELETE' })
          await session.ask(steps.readAgain.with(made), path)
        }
        await session.ask(steps.deleted.with(made), path, { method: 'DELETE' })
        await session.ask(steps.gone.with(made), path)
        if (declares(session.target, 'continuation'))
          await session.chat(steps.continued.with(made), {
            model,
            body: { store: true, previous_response_id: id },
          })
      }
    await session.drain()
  },
  judge({ evidence }) {
    const findings = steps.made.in(evidence).flatMap((made): Finding[] => {
      const of = (kind: (typeof steps)[keyof typeof steps]) =>
        kind
          .in(evidence)
          .find(
            ({ details: { model, stream } }) =>
              model === made.details.model && stream === made.details.stream,
          )
      const [read, deleted, gone] = [of(steps.read), of(steps.deleted), of(steps.gone)]
      const entry = servedBy(evidence, made)
      const isTranslated = entry !== null && isCrossed(made, entry)
      // A gateway that stores no answers relies on the provider's copy.
      if (!read || !deleted || !gone || (isTranslated && read.status !== 200)) return []
      const isIt =
        read.status === 200 &&
        at(jsonOf(read.body), '/id') === responseIdIn(made) &&
        responses.read(read.body).content === responses.read(made.body).content
      const judged = (id: string, ok: boolean, exchange: Exchange, expected: string) =>
        finding(
          id,
          ok,
          `"${stepText(exchange)}"`,
          { expected, actual: `${endText(exchange)}: ${exchange.body.slice(0, 100)}` },
          refs(made, exchange),
        )
      const foreign = [of(steps.foreignRead), of(steps.foreignDelete)].filter((each) => each !== undefined)
      const again = of(steps.readAgain)
      const continued = of(steps.continued)
      return [
        judged('is-read', isIt, read, '200, and the answer as it was given'),
        ...foreign.map((each) =>
          judged('other-keys-get-nothing', isOneOf(each, [401, 403, 404]), each, '401, 403 or 404'),
        ),
        ...(again
          ? [judged('other-keys-delete-nothing', again.status === 200, again, '200, since it is still there')]
          : []),
        judged('is-gone', isOneOf(deleted, [200, 202, 204]) && isOneOf(gone, [404, 410]), gone, '404 or 410'),
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
    const anonymous = evidence.ledger.filter(({ kind, nonce }) => kind === 'inference' && nonce === null)
    if (findings.length === 0) return [absent('is-read', 'Every answer was translated, and none is kept.')]
    return [
      ...findings,
      finding(
        'reads-cost-nothing',
        anonymous.length === 0,
        'inferences that belong to no call',
        { expected: 'none', actual: String(anonymous.length) },
        refs(...anonymous),
      ),
    ]
  },
} satisfies Check

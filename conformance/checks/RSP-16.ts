// RSP-16: An answer can be continued by `previous_response_id` as soon as its client has received its end.
import { modelsOf, refs, servedBy } from '../dialects/lookup.ts'
import { step, stepText } from '../evidence/step.ts'
import { endText } from '../evidence/wording.ts'
import { type Check, doubt, finding } from '../runner/check.ts'
import { goesOn, responseIdIn } from './responses.ts'

const turn = step<{ model: string; n: number; stream: boolean }>('turn')

/** Turns of a conversation. */
const TURNS = 20

export const continuedAtOnce = {
  id: 'RSP-16',
  needs: ['responses', 'continuation'],
  dialect: 'responses',
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
    return turns.flatMap((exchange) => {
      const { model, n } = exchange.details
      const before = turns.find(({ details }) => details.model === model && details.n === n - 1)
      if (before === undefined)
        return exchange.status === 200
          ? []
          : [doubt('goes-on-at-once', `${stepText(exchange)}: ${endText(exchange)}`, refs(exchange))]
      const waited = Math.round(exchange.at - before.end_at)
      return [
        finding(
          'goes-on-at-once',
          goesOn(evidence, before, exchange),
          `"${stepText(exchange)}", ${waited} ms after the answer before it`,
          {
            expected: 'the provider gets its own id, or the whole history',
            actual: `${endText(exchange)}: ${exchange.body.slice(0, 100)}`,
          },
          refs(before, exchange, servedBy(evidence, exchange)),
        ),
      ]
    })
  },
} satisfies Check

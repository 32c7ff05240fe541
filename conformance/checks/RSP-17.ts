// RSP-17: An answer can be continued by `previous_response_id` after the gateway was restarted.
import { modelsOf, refs, servedBy } from '../dialects/lookup.ts'
import { step, stepText } from '../evidence/step.ts'
import { endText } from '../evidence/wording.ts'
import { type Check, doubt, finding } from '../runner/check.ts'
import { goesOn, responseIdIn } from './responses.ts'

const steps = {
  before: step<{ model: string; stream: boolean }>('before the restart'),
  after: step<{ model: string; stream: boolean }>('after the restart'),
}

export const continuedAfterRestart = {
  id: 'RSP-17',
  needs: ['responses', 'continuation', 'restart'],
  dialect: 'responses',
  timeout: 90_000,
  async exercise(session) {
    const running = await session.another(null)
    const made = []
    for (const model of modelsOf(session))
      for (const stream of [false, true]) {
        const details = { model, stream }
        const answer = await session.chat(steps.before.with(details), { ...details, body: { store: true } })
        made.push({ details, id: responseIdIn(answer) })
      }
    await running.stop()
    await running.start()
    for (const { details, id } of made)
      if (id !== null)
        await session.chat(steps.after.with(details), {
          ...details,
          body: { store: true, previous_response_id: id },
        })
  },
  judge({ evidence }) {
    const before = steps.before.in(evidence)
    const after = steps.after.in(evidence)
    if (after.length === 0)
      return [doubt('goes-on-after-restart', 'No answer had an id.', refs(...before.slice(0, 3)))]
    return after.map((exchange) => {
      const { model, stream } = exchange.details
      const first = before.find(({ details }) => details.model === model && details.stream === stream)!
      return finding(
        'goes-on-after-restart',
        goesOn(evidence, first, exchange),
        `"${stepText(exchange)}"`,
        {
          expected: 'the provider gets its own id, or the whole history',
          actual: `${endText(exchange)}: ${exchange.body.slice(0, 100)}`,
        },
        refs(first, exchange, servedBy(evidence, exchange)),
      )
    })
  },
} satisfies Check

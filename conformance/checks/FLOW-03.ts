// FLOW-03: An event reaches the client before the next event exists (the mock withholds the next event until then).

import { everyModel, ref } from '../dialects/lookup.ts'
import { dialectOf } from '../dialects/registry.ts'
import { delta, END } from '../dialects/scripted.ts'
import type { Exchange } from '../evidence/evidence.ts'
import { step, stepText } from '../evidence/step.ts'
import { type Check, finding } from '../runner/check.ts'
import { EVENT_TIMEOUT_MS, saysInTime } from './pace.ts'

const steps = {
  held: step<{ model: string }>('held'),
}

const HELD = 4

const held = (index: number): string => `held-${index};`
/** Returns the name of the mark for the time at which the gate behind an event opened. */
const released = (model: string, index: number): string => `released_${index}_${model}`

/** Returns the part of a body that had arrived by the given time. */
function bodyBy({ body, chunks }: Exchange, moment: number): string {
  const bytes = chunks.reduce((sum, [size, at]) => (at <= moment ? sum + size : sum), 0)
  return Buffer.from(body).subarray(0, bytes).toString('utf8')
}

export const eventsAreNotHeldBack = {
  id: 'FLOW-03',
  since: 4,
  timeout: 120_000,
  async exercise(session) {
    for (const model of everyModel(session)) {
      const gates = Array.from({ length: HELD }, () => session.nonce())
      const events = gates.flatMap((gate, index) => [delta(held(index)), { gate }])
      const script = [{ events: [...events, END] }]
      const call = await session.openChat(steps.held.with({ model }), {
        ...{ model, stream: true, script },
        timeout: 60_000,
      })
      for (const [index, gate] of gates.entries()) {
        // Compares the meaning, because a gateway may split the text differently.
        await saysInTime(session, call, held(index))
        session.mark(released(model, index))
        await session.mock.release(gate)
      }
      await call.done
    }
  },
  judge: ({ evidence }) =>
    steps.held.in(evidence).flatMap((exchange) =>
      Array.from({ length: HELD }, (_, index) => {
        const ok = dialectOf(exchange)
          .read(bodyBy(exchange, evidence.marks[released(exchange.details.model, index)]!))
          .content.includes(held(index))
        return finding(
          'event-arrives-at-once',
          ok,
          `event ${index + 1} of "${stepText(exchange)}", while the provider held back the next one`,
          {
            expected: `at the client within ${EVENT_TIMEOUT_MS / 1000} s, or while the gateway answers other calls`,
            actual: ok ? 'it was' : 'it was not',
          },
          [ref(exchange)],
        )
      }),
    ),
} satisfies Check

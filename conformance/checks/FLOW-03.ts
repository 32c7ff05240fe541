// FLOW-03: An event reaches the client before the next one exists (the witness withholds the next one until then).
import { type Check, finding } from '../check.ts'
import type { Exchange } from '../evidence.ts'
import { ref } from '../lookup.ts'
import { delta, END } from '../scripted.ts'
import { step } from '../step.ts'
import { surfaceOf } from '../surfaces.ts'

const steps = {
  held: step('held'),
}

const HELD = 4
/** How long an event may take while nothing else happens, ms. */
const PATIENCE = 3_000

const held = (index: number): string => `held-${index};`
/** The moment at which the gate behind an event was opened. */
const released = (index: number): string => `released_${index}`

/** What had come of a body at a moment. */
function bodyBy({ body, chunks }: Exchange, moment: number): string {
  const bytes = chunks.reduce((sum, [size, at]) => (at <= moment ? sum + size : sum), 0)
  return Buffer.from(body).subarray(0, bytes).toString('utf8')
}

export const eventsAreNotHeldBack = {
  id: 'FLOW-03',
  async exercise(session) {
    const gates = Array.from({ length: HELD }, () => session.nonce())
    const events = gates.flatMap((gate, index) => [delta(held(index)), { gate }])
    const script = [{ events: [...events, END] }]
    const call = await session.openChat(steps.held, { stream: true, script })
    for (const [index, gate] of gates.entries()) {
      // By meaning: a gateway may cut the text into other pieces.
      await call.says(held(index), PATIENCE)
      session.mark(released(index))
      await session.witness.release(gate)
    }
    await call.done
  },
  judge: ({ evidence }) =>
    evidence.exchanges.flatMap((exchange) =>
      Array.from({ length: HELD }, (_, index) => {
        const ok = surfaceOf(exchange)
          .read(bodyBy(exchange, evidence.marks[released(index)]!))
          .content.includes(held(index))
        return finding(
          'event-arrives-at-once',
          ok,
          `event ${index + 1}, while the provider held back the next one`,
          { expected: `at the client within ${PATIENCE / 1000} s`, actual: ok ? 'it was' : 'it was not' },
          [ref(exchange)],
        )
      }),
    ),
} satisfies Check

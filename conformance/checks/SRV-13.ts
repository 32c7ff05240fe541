// SRV-13: Four simultaneous calls are answered in full.
import { ref } from '../dialects/lookup.ts'
import { readAnswer } from '../dialects/registry.ts'
import { step } from '../evidence/step.ts'
import { type Check, finding } from '../runner/check.ts'
import { ANSWER_TIMEOUT_MS, answered, small } from './server.ts'

const call = step<{ number: number }>('call')

const AT_ONCE = 4

export const callsAtOnceAreWhole = {
  id: 'SRV-13',
  stress: true,
  async exercise(session) {
    const body = small(session, true)
    await Promise.all(
      Array.from({ length: AT_ONCE }, (_, number) =>
        session.chat(call.with({ number }), { stream: true, body, timeout: 2 * ANSWER_TIMEOUT_MS }),
      ),
    )
  },
  judge: ({ evidence }) =>
    call.in(evidence).flatMap((exchange) => {
      const { done, finish } = readAnswer(exchange)
      return [
        answered(exchange, `one of ${AT_ONCE} calls at once`),
        finding(
          'is-whole',
          done === 1 && finish.length === 1,
          `the end of one of ${AT_ONCE} streams at once`,
          { expected: 'one end and one reason', actual: `${done} and ${finish.length}` },
          [ref(exchange)],
        ),
      ]
    }),
} satisfies Check

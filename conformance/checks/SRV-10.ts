// SRV-10: A prompt that is longer than the model's window gets a 4xx.
import { ref } from '../dialects/lookup.ts'
import { step } from '../evidence/step.ts'
import { endText } from '../evidence/wording.ts'
import { type Check, finding } from '../runner/check.ts'
import { ANSWER_TIMEOUT_MS } from './server.ts'

const call = step('call')

export const tooLongIsRefused = {
  id: 'SRV-10',
  needs: ['window'],
  async exercise(session) {
    const { window = 0 } = session.target.capabilities
    // Each number is at least one token.
    const prompt = Array.from({ length: window + 1 }, (_, index) => index).join(' ')
    await session.chat(call, { prompt, body: session.limit(1), timeout: ANSWER_TIMEOUT_MS })
  },
  judge: ({ evidence, target }) =>
    call
      .in(evidence)
      .map((exchange) =>
        finding(
          'too-long-is-refused',
          exchange.status !== null && exchange.status >= 400 && exchange.status < 500,
          `a prompt of more than ${target.capabilities.window} tokens`,
          { expected: 'a 4xx', actual: endText(exchange) },
          [ref(exchange)],
        ),
      ),
} satisfies Check

// SRV-12: A body that is designed to break a parser gets a 4xx, and the server answers the next call.
import { ref } from '../dialects/lookup.ts'
import { step } from '../evidence/step.ts'
import { endText } from '../evidence/wording.ts'
import { type Check, finding } from '../runner/check.ts'
import { post } from './fail/parts.ts'
import { ANSWER_TIMEOUT_MS, answered, small } from './server.ts'

const steps = { hostile: step<{ body: string }>('hostile'), afterwards: step('afterwards') }

/** Invalid bodies that have crashed servers. */
const BODIES: Readonly<Record<string, string>> = {
  'nested 100,000 deep': `{"model":"MODEL","messages":${'['.repeat(100_000)}`,
  'a key 1 MB long': `{"${'x'.repeat(2 ** 20)}":1}`,
  'a number with 100,000 digits': `{"model":"MODEL","max_tokens":${'9'.repeat(100_000)}}`,
  'half a surrogate': '{"model":"MODEL","messages":"\\ud800"}',
}

export const hostileBodiesAreSurvived = {
  id: 'SRV-12',
  stress: true,
  hostile: true,
  async exercise(session) {
    for (const [name, body] of Object.entries(BODIES))
      await post(session, steps.hostile.with({ body: name }), body)
    await session.chat(steps.afterwards, { body: small(session, false, 1), timeout: ANSWER_TIMEOUT_MS })
  },
  judge: ({ evidence }) => [
    ...steps.hostile
      .in(evidence)
      .map((exchange) =>
        finding(
          'hostile-is-4xx',
          exchange.status !== null && exchange.status >= 400 && exchange.status < 500,
          `the answer to a body with ${exchange.details.body}`,
          { expected: 'a 4xx', actual: endText(exchange) },
          [ref(exchange)],
        ),
      ),
    ...steps.afterwards.in(evidence).map((exchange) => answered(exchange, 'a proper call afterwards')),
  ],
} satisfies Check

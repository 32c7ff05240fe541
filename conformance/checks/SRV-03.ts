// SRV-03: A body that is not JSON, has wrong types or lacks required members gets a 4xx. The error has the format
// of the dialect's errors (SHOULD). A request for an unknown model also gets a 4xx (SHOULD).
import { ref } from '../dialects/lookup.ts'
import { dialectOf } from '../dialects/registry.ts'
import { step } from '../evidence/step.ts'
import { endText } from '../evidence/wording.ts'
import { type Check, finding } from '../runner/check.ts'
import type { CheckContext } from '../runner/context.ts'
import { malformed, post } from './fail/parts.ts'
import { ANSWER_TIMEOUT_MS, answered, small } from './server.ts'

const steps = {
  malformed: step<{ body: string }>('malformed'),
  unknown: step('unknown model'),
  afterwards: step('afterwards'),
}

/** Returns a malformed body that costs at most one token if the server accepts it. */
function withLimit(body: string, { dialect }: CheckContext): string {
  if (dialect.limit === null || !body.includes('"model":') || !body.endsWith('}')) return body
  return JSON.stringify({ ...JSON.parse(body), [dialect.limit]: 1 })
}

export const badRequestsAreRefused = {
  id: 'SRV-03',
  async exercise(session) {
    for (const [name, body] of Object.entries(malformed(session)))
      await post(session, steps.malformed.with({ body: name }), withLimit(body, session))
    await session.chat(steps.unknown, {
      model: 'no-such-model',
      body: session.limit(1),
      timeout: ANSWER_TIMEOUT_MS,
    })
    await session.chat(steps.afterwards, { body: small(session, false, 1), timeout: ANSWER_TIMEOUT_MS })
  },
  judge: ({ evidence }) => [
    ...steps.malformed.in(evidence).flatMap((exchange) => {
      const { isError, errorShape } = dialectOf(exchange)
      const what = `the answer to a body that is ${exchange.details.body}`
      return [
        finding(
          'malformed-is-4xx',
          exchange.status !== null && exchange.status >= 400 && exchange.status < 500,
          what,
          { expected: 'a 4xx', actual: endText(exchange) },
          [ref(exchange)],
        ),
        {
          ...finding(
            'has-the-shape-of-errors',
            isError(exchange.body),
            what,
            { expected: errorShape, actual: exchange.body.slice(0, 200) || 'nothing' },
            [ref(exchange)],
          ),
          advice: true,
        },
      ]
    }),
    // A server with a single model may accept any name for it.
    ...steps.unknown.in(evidence).map((exchange) => ({
      ...finding(
        'unknown-model-is-refused',
        exchange.status !== null && exchange.status >= 400 && exchange.status < 500,
        'a call for "no-such-model"',
        { expected: 'a 4xx', actual: endText(exchange) },
        [ref(exchange)],
      ),
      advice: true,
    })),
    ...steps.afterwards.in(evidence).map((exchange) => answered(exchange, 'a proper call afterwards')),
  ],
} satisfies Check
